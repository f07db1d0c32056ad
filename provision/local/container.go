package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"clusterctl/provision/inventory"

	"github.com/containerd/go-runc"
	"golang.org/x/sys/unix"
)

// runtime gives runc with a state directory for one cluster. The directory is under /run: after
// a boot of this machine no container is left, and none is remembered. Setpgid keeps Ctrl-C from
// runc.
func (p *Provider) runtime(l layout) *runc.Runc {
	return &runc.Runc{Command: p.opts.Runc, Root: p.runtimeDir(l), Setpgid: true}
}

func (p *Provider) runtimeDir(l layout) string { return filepath.Join(runDir, l.cluster) }

// removedDir has disks that are being deleted.
func (p *Provider) removedDir(l layout) string { return filepath.Join(p.clusterDir(l), "removed") }

func (p *Provider) disk(l layout, host string) disk {
	return disk{filepath.Join(p.clusterDir(l), "hosts", host)}
}

// running says whether a host runs as it should: its init is alive, in the network namespace of
// its name, on the overlay that we see.
func (p *Provider) running(ctx context.Context, l layout, host string) bool {
	if !isDir(filepath.Join(p.runtimeDir(l), host)) || !p.disk(l, host).mounted() {
		return false
	}
	c, err := p.runtime(l).State(ctx, host)
	if err != nil || c.Status != "running" {
		return false
	}
	have, err := os.Stat(filepath.Join("/proc", strconv.Itoa(c.Pid), "ns/net"))
	if err != nil {
		return false
	}
	want, err := os.Stat(netnsPath(l.namespace(host)))
	return err == nil && os.SameFile(have, want)
}

// boot writes a host's bundle and starts its init, which outlives this process.
func (p *Provider) boot(ctx context.Context, l layout, h inventory.Host, m machine) error {
	d := p.disk(l, h.Name)
	config, err := json.MarshalIndent(ociConfig(container{
		hostname: h.Name, netns: netnsPath(l.namespace(h.Name)), cgroupPath: cgroupName(l.cluster, h.Name), dir: d.dir,
	}, m), "", "  ")
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
	if _, err := p.runtime(l).Run(ctx, h.Name, d.dir, &runc.CreateOpts{IO: console, Detach: true}); err != nil {
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
	known := isDir(filepath.Join(p.runtimeDir(l), host))
	if known {
		// With init goes its PID namespace, at once: nobody inside sees the others die. This goes
		// wrong when init is dead or never was; then the rest is done by what follows.
		if err := p.runtime(l).Kill(ctx, host, int(unix.SIGKILL), nil); err != nil {
			p.opts.Log.DebugContext(ctx, "init not killed", "host", host, "error", err)
		}
	}
	errs = append(errs, killCgroup(ctx, group))
	if known {
		if err := p.runtime(l).Delete(ctx, host, &runc.DeleteOpts{Force: true}); err != nil {
			errs = append(errs, fmt.Errorf("remove the container of host %s: %w", host, err))
		}
	}
	errs = append(errs, removeCgroup(ctx, group), p.disk(l, host).unmount())
	return errors.Join(errs...)
}
