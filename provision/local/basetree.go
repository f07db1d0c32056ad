package local

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"clusterctl/provision/event"
)

// treeFiles are laid over what debootstrap made.
//
//go:embed tree
var treeFiles embed.FS

// recipe is all that decides what is in a base tree. Its hash names the tree.
type recipe struct {
	Suite    string
	Packages []string
	Files    map[string]string // content by absolute path, mode 0644
	Links    map[string]string // target by absolute path
	Remove   []string          // glob patterns of absolute paths
}

// baseRecipe is the tree that all hosts share: a small Debian that is never booted itself.
func baseRecipe() (recipe, error) {
	r := recipe{
		Suite: "bookworm",
		Packages: []string{
			"ca-certificates", "conntrack", "curl", "dbus", "ethtool", "ipset", "iproute2", "iptables",
			"iputils-ping", "kmod", "mount", "nftables", "openssh-server", "openssl", "procps", "socat",
			"sudo", "systemd", "systemd-sysv", "util-linux", "zstd",
		},
		Files: map[string]string{},
		Links: map[string]string{
			"/etc/systemd/system/default.target": "/usr/lib/systemd/system/multi-user.target",
		},
		Remove: []string{
			// Each host has its own.
			"/etc/ssh/ssh_host_*", "/etc/machine-id", "/var/lib/dbus/machine-id", "/etc/hostname", "/etc/hosts", "/etc/resolv.conf",
			// Most kernel settings are the machine's: only what the cluster asks for is set at boot.
			"/etc/sysctl.d/*", "/usr/lib/sysctl.d/*",
			// They look for disks, consoles and boot menus; without them systemd is up sooner.
			"/usr/lib/systemd/system-generators/*",
			// Users may log in as soon as sshd answers.
			"/usr/lib/tmpfiles.d/systemd-nologin.conf",
			"/var/cache/apt/archives/*.deb", "/var/lib/apt/lists/*", "/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*",
		},
	}
	for _, unit := range maskedUnits() {
		r.Links["/etc/systemd/system/"+unit] = "/dev/null"
	}
	err := fs.WalkDir(treeFiles, "tree", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := treeFiles.ReadFile(path)
		r.Files[path[len("tree"):]] = string(data)
		return err
	})
	return r, err
}

// maskedUnits would touch the machine's kernel or hardware, wait for a console that is not there,
// or do work at boot and on timers that a cluster host has no use for.
func maskedUnits() []string {
	return []string{
		"apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "e2scrub_all.timer", "e2scrub_reap.service", "fstrim.timer",
		"console-getty.service", "container-getty@.service", "getty@.service", "getty.target", "serial-getty@.service",
		"dev-hugepages.mount", "dev-mqueue.mount", "sys-fs-fuse-connections.mount", "sys-kernel-config.mount",
		"sys-kernel-debug.mount", "sys-kernel-tracing.mount", "proc-sys-fs-binfmt_misc.automount", "systemd-binfmt.service",
		"kmod-static-nodes.service", "systemd-ask-password-console.path", "systemd-ask-password-wall.path",
		"systemd-firstboot.service", "systemd-machine-id-commit.service", "systemd-pcrphase.service", "systemd-pcrphase-sysinit.service",
		"modprobe@.service", "systemd-pstore.service", "systemd-random-seed.service", "systemd-remount-fs.service", "systemd-repart.service", "systemd-sysusers.service",
		"systemd-update-utmp.service", "systemd-update-utmp-runlevel.service",
		"systemd-udevd.service", "systemd-udev-trigger.service", "systemd-udevd-control.socket", "systemd-udevd-kernel.socket",
	}
}

// hash names the tree that a recipe makes.
func (r recipe) hash() (string, error) {
	data, err := json.Marshal(r) // maps are marshalled in the order of their keys
	if err != nil {
		return "", fmt.Errorf("hash the recipe of the base tree: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8]), nil
}

// basePath says where the tree of today's recipe is, or will be.
func (p *Provider) basePath() (string, recipe, error) {
	r, err := baseRecipe()
	if err != nil {
		return "", recipe{}, fmt.Errorf("read the recipe of the base tree: %w", err)
	}
	h, err := r.hash()
	return filepath.Join(p.opts.CacheDir, "base", h), r, err
}

// ensureBase makes the base tree unless the cache has it, and returns its path. A tree appears
// under its name only when it is whole.
func (p *Provider) ensureBase(ctx context.Context, to event.Sink) (string, error) {
	path, r, err := p.basePath()
	if err != nil {
		return "", err
	}
	if isDir(path) {
		return path, nil
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make the cache of base trees: %w", err)
	}
	lock, err := waitLock(ctx, filepath.Join(dir, "lock"), func() { note(to, "", "waiting for another clusterctl that makes the base tree") })
	if err != nil {
		return "", fmt.Errorf("wait for another builder of the base tree: %w", err)
	}
	defer lock.Close()
	if isDir(path) { // the other builder made it
		return path, nil
	}
	if err := r.build(ctx, path, lock, to); err != nil {
		return "", fmt.Errorf("make the base tree of local hosts: %w", err)
	}
	return path, nil
}

// build makes the tree beside its final path and renames it. What an interrupted builder left is
// removed first; the caller holds the lock.
func (r recipe) build(ctx context.Context, path string, lock *os.File, to event.Sink) error {
	stale, err := filepath.Glob(filepath.Join(filepath.Dir(path), "tmp-*"))
	if err != nil {
		return err
	}
	for _, s := range stale {
		if err := os.RemoveAll(s); err != nil {
			return err
		}
	}
	tmp, err := os.MkdirTemp(filepath.Dir(path), "tmp-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp) // nothing is there any more after the rename
	began := time.Now()
	note(to, "", "making the base tree of local hosts with debootstrap, once")
	if err := r.debootstrap(ctx, tmp, lock, to); err != nil {
		return err
	}
	if err := r.finish(tmp); err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		return err
	}
	to.Emit(event.Event{Time: time.Now(), Kind: event.Note, Phase: phase, Text: "base tree of local hosts is made", Took: time.Since(began)})
	return nil
}

// finish makes a Debian tree into a base tree. Every path stays inside the tree, whatever
// symbolic links are in it.
func (r recipe) finish(tree string) error {
	root, err := os.OpenRoot(tree)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.Chmod(".", 0o755); err != nil {
		return err
	}
	for _, pattern := range r.Remove {
		found, err := fs.Glob(root.FS(), pattern[1:])
		if err != nil {
			return err
		}
		for _, f := range found {
			if err := root.RemoveAll(f); err != nil {
				return err
			}
		}
	}
	for path, content := range r.Files {
		if err := putFile(root, path, []byte(content), 0o644); err != nil {
			return err
		}
	}
	for path, target := range r.Links {
		if err := putLink(root, path, target); err != nil {
			return err
		}
	}
	for _, d := range slices.Concat(diskPaths(), []string{"/lib/modules"}) {
		if err := root.MkdirAll(d[1:], 0o755); err != nil {
			return err
		}
	}
	return nil
}
