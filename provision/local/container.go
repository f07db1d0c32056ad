package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"clusterctl/provision/inventory"

	"github.com/containerd/go-runc"
	"golang.org/x/sys/unix"
)

// runtime gives runc with a state directory for one cluster. The directory is under /run: after
// a boot of this machine no container is left, and none is remembered. Setpgid keeps Ctrl-C from
// runc, and runc does not outlive this process; what it was at is cleared by the next.
func (p *Provider) runtime(l layout) *runc.Runc {
	return &runc.Runc{Command: p.opts.Runc, Root: p.runtimeDir(l), Setpgid: true, PdeathSignal: syscall.SIGKILL}
}

func (p *Provider) runtimeDir(l layout) string { return filepath.Join(runDir, l.cluster) }

// removedDir has disks that are being deleted.
func (p *Provider) removedDir(l layout) string { return filepath.Join(p.clusterDir(l), "removed") }

func (p *Provider) disk(l layout, host string) disk {
	return disk{filepath.Join(p.clusterDir(l), "hosts", host)}
}

// running says whether a host runs as it should: its init is alive, in the network namespace of
// its name, on the overlay that we see. Not to know is an error: a host that is taken for dead is
// killed.
func (p *Provider) running(ctx context.Context, l layout, host string) (bool, error) {
	// runc writes the file last; without it, a start was interrupted.
	_, err := os.Stat(filepath.Join(p.runtimeDir(l), host, "state.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at host %s: %w", host, err)
	}
	c, err := p.runtime(l).State(ctx, host)
	if err != nil {
		return false, fmt.Errorf("look at host %s: %w", host, errors.Join(ctx.Err(), err))
	}
	if c.Status != "running" {
		return false, nil
	}
	if mounted, err := p.disk(l, host).mounted(); err != nil || !mounted {
		return false, err
	}
	have, err := os.Stat(filepath.Join("/proc", strconv.Itoa(c.Pid), "ns/net"))
	if err != nil {
		return false, nil // it ended just now
	}
	want, err := os.Stat(netnsPath(l.namespace(host)))
	return err == nil && os.SameFile(have, want), nil
}

// boot writes a host's bundle and starts its init, which outlives this process. runc holds the
// claim too (and keeps it from the host): should this process be killed, the next one waits for
// runc to be gone.
func (m maker) boot(ctx context.Context, h inventory.Host) error {
	l, d := m.layout, m.disk(m.layout, h.Name)
	config, err := json.MarshalIndent(ociConfig(container{
		hostname: h.Name, netns: netnsPath(l.namespace(h.Name)), cgroupPath: cgroupName(l.cluster, h.Name), dir: d.dir,
	}, m.machine), "", "  ")
	if err != nil {
		return fmt.Errorf("configure host %s: %w", h.Name, err)
	}
	if err := writeFile(d.path("config.json"), config, 0o600); err != nil {
		return err
	}
	console, err := openConsole(d.path("console.log"))
	if err != nil {
		return fmt.Errorf("open the console of host %s: %w", h.Name, err)
	}
	defer console.Close()
	if _, err := m.runtime(l).Run(ctx, h.Name, d.dir, &runc.CreateOpts{IO: console, Detach: true, ExtraFiles: []*os.File{m.claim.dir}}); err != nil {
		said, _ := os.ReadFile(d.path("console.log"))
		return fmt.Errorf("start host %s: %w: %s", h.Name, errors.Join(ctx.Err(), err), bytes.TrimSpace(said))
	}
	return nil
}

// powerOff ends a host at once, as a power cut does: nothing of it is told, the disk stays. It
// also takes away what a start left half made, and is content when there is nothing.
func (p *Provider) powerOff(ctx context.Context, l layout, host string) error {
	var errs []error
	group := cgroupName(l.cluster, host)
	if isDir(filepath.Join(p.runtimeDir(l), host)) {
		// With init goes its PID namespace, at once: nobody inside sees the others die. This goes
		// wrong when init is dead or never was; then the rest is done by what follows.
		if err := p.runtime(l).Kill(ctx, host, int(unix.SIGKILL), nil); err != nil {
			p.opts.Log.DebugContext(ctx, "init not killed", "host", host, "error", err)
		}
	}
	errs = append(errs, killCgroup(ctx, group))
	errs = append(errs, removeCgroup(ctx, group), p.forget(ctx, l, host), p.disk(l, host).unmount())
	return errors.Join(errs...)
}

// forget removes runc's record of a host without processes and cgroups. There is nothing else
// that runc would do, so it goes without runc too: a cluster can be destroyed when the bundle
// with runc is gone.
func (p *Provider) forget(ctx context.Context, l layout, host string) error {
	dir := filepath.Join(p.runtimeDir(l), host)
	if !isDir(dir) {
		return nil
	}
	if err := p.runtime(l).Delete(ctx, host, &runc.DeleteOpts{Force: true}); err != nil {
		p.opts.Log.DebugContext(ctx, "container not deleted", "host", host, "error", err)
	}
	return removeAll(dir)
}
