package local

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"clusterctl/provision/inventory"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// disk is a host's directory: its overlay's upper layer, its disks, its OCI bundle.
type disk struct{ dir string }

func (d disk) path(name string) string { return filepath.Join(d.dir, name) }
func (d disk) rootfs() string          { return d.path("rootfs") }

// prepare makes the directories and notes the address and the layers below the disk. Both must
// stay the same as long as the disk lives: certificates and etcd's member list hold the one, and
// as to the other the kernel leaves a lower layer that changes under an upper one undefined
// (Documentation/filesystems/overlayfs.rst, "Changes to underlying filesystems"). It returns
// the layers to use, the upper first.
func (d disk) prepare(layers []string, address netip.Addr) ([]string, error) {
	names := []string{"upper", "work", "rootfs"}
	for name := range disks() {
		names = append(names, name)
	}
	for _, name := range names {
		if err := os.MkdirAll(d.path(name), 0o755); err != nil {
			return nil, fmt.Errorf("make the disk %s: %w", d.dir, err)
		}
	}
	if err := writeFile(d.path("address"), []byte(address.String()), 0o600); err != nil {
		return nil, err
	}
	have, err := os.ReadFile(d.path("base"))
	if errors.Is(err, fs.ErrNotExist) {
		return layers, writeFile(d.path("base"), []byte(strings.Join(layers, "\n")), 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("read the layers of disk %s: %w", d.dir, err)
	}
	noted := strings.Split(string(have), "\n")
	for _, layer := range noted {
		if !isDir(layer) {
			return nil, fmt.Errorf("the disk %s stands on the tree %s, which is gone; restore it, or remove the cluster with clusterctl down", d.dir, layer)
		}
	}
	return noted, nil
}

// checkAddress refuses an address that is not the one the disk was made with.
func (d disk) checkAddress(h inventory.Host) error {
	have, err := os.ReadFile(d.path("address"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // new, or interrupted before it ever ran
	}
	if err != nil {
		return fmt.Errorf("read the address of host %s: %w", h.Name, err)
	}
	if string(have) != h.Address.String() {
		return fmt.Errorf("host %s has the address %s and the spec now gives it %s; keep the order of spec.workers and add new pools at the end", h.Name, have, h.Address)
	}
	return nil
}

// mount puts the overlay at rootfs. The host's directory is first made a mount of its own that is
// private: on most machines / is shared, and what is mounted inside a host would else appear on
// the machine too.
func (d disk) mount(layers []string) error {
	mounted, err := mountinfo.Mounted(d.dir)
	if err == nil && !mounted {
		err = unix.Mount(d.dir, d.dir, "", unix.MS_BIND, "")
	}
	if err == nil {
		err = unix.Mount("", d.dir, "", unix.MS_PRIVATE, "")
	}
	if err != nil {
		return fmt.Errorf("bind the disk %s: %w", d.dir, err)
	}
	if mounted, err := d.mounted(); err != nil || mounted {
		return err
	}
	// Documentation/filesystems/overlayfs.rst, "Multiple lower layers": a colon is escaped.
	escape := strings.NewReplacer(`\`, `\\`, `:`, `\:`, `,`, `\,`)
	lower := make([]string, len(layers))
	for i, layer := range layers {
		lower[i] = escape.Replace(layer)
	}
	options := "lowerdir=" + strings.Join(lower, ":") + ",upperdir=" + d.path("upper") + ",workdir=" + d.path("work")
	if err := unix.Mount("overlay", d.rootfs(), "overlay", 0, options); err != nil {
		return fmt.Errorf("mount the overlay of disk %s: %w; is %s on a file system that can be an overlay's upper layer?", d.dir, err, dataDir)
	}
	return nil
}

// mounted says whether the overlay is there.
func (d disk) mounted() (bool, error) {
	ok, err := mountinfo.Mounted(d.rootfs())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for the mounts of disk %s: %w", d.dir, err)
	}
	return ok, nil
}

// unmount takes away everything that is mounted at or below the disk, the newest first. A mount
// that is busy is detached: it goes when its last user does.
func (d disk) unmount() error {
	mounts, err := mountinfo.GetMounts(mountinfo.PrefixFilter(d.dir))
	if err != nil {
		return fmt.Errorf("look for the mounts of disk %s: %w", d.dir, err)
	}
	slices.Reverse(mounts)
	var errs []error
	for _, m := range mounts {
		err := unix.Unmount(m.Mountpoint, unix.UMOUNT_NOFOLLOW)
		if errors.Is(err, unix.EBUSY) {
			err = unix.Unmount(m.Mountpoint, unix.UMOUNT_NOFOLLOW|unix.MNT_DETACH)
		}
		if err != nil && !errors.Is(err, unix.EINVAL) { // EINVAL: went with its parent
			errs = append(errs, fmt.Errorf("unmount %s: %w", m.Mountpoint, err))
		}
	}
	return errors.Join(errs...)
}

// remove deletes the disk. Nothing may be mounted on it any more. It is first moved to grave, so
// that an interruption leaves no half of a disk under the host's name.
func (d disk) remove(grave string) error {
	mounts, err := mountinfo.GetMounts(mountinfo.PrefixFilter(d.dir))
	if err == nil && len(mounts) > 0 {
		err = fmt.Errorf("%d mounts are still on it, the first is %s", len(mounts), mounts[0].Mountpoint)
	}
	if err == nil {
		err = os.RemoveAll(grave)
	}
	if err == nil {
		err = os.MkdirAll(filepath.Dir(grave), 0o700)
	}
	if err == nil {
		err = os.Rename(d.dir, grave)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = os.RemoveAll(grave)
	}
	if err != nil {
		return fmt.Errorf("remove the disk %s: %w", d.dir, err)
	}
	return nil
}
