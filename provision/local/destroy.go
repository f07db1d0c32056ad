package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"time"

	"clusterctl/provision/event"
	"clusterctl/provision/inventory"
	"clusterctl/provision/spec"

	"golang.org/x/sys/unix"
)

// Prune deletes the hosts that exist and that the spec does not name.
func (p *Provider) Prune(ctx context.Context, s *spec.Cluster, to event.Sink) error {
	return p.deleting(ctx, s, to, p.unnamed)
}

// Discard deletes one host with its disk; Ensure makes it anew, with the same keys and address.
func (p *Provider) Discard(ctx context.Context, s *spec.Cluster, host string, to event.Sink) error {
	return p.deleting(ctx, s, to, func(layout) ([]string, error) { return []string{host}, nil })
}

// deleting removes the hosts that which names, of a cluster that is there.
func (p *Provider) deleting(ctx context.Context, s *spec.Cluster, to event.Sink, which func(layout) ([]string, error)) error {
	l, err := newLayout(s)
	if err != nil {
		return err
	}
	c, err := p.claim(ctx, l)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer c.release()
	names, err := which(l)
	if err != nil {
		return err
	}
	return p.removeHosts(ctx, l, names, to)
}

// Destroy deletes the hosts, their disks, their network and their keys. Base trees stay: they
// are a cache. What could not be removed is in the error; running it again goes on.
func (p *Provider) Destroy(ctx context.Context, s *spec.Cluster, to event.Sink) error {
	l, err := newLayout(s)
	if err != nil {
		return err
	}
	if os.Geteuid() != 0 {
		return errNotRoot
	}
	// The claim is made even when there is no directory: something else may be left.
	c, err := p.create(ctx, l)
	if err != nil {
		return err
	}
	defer c.release()
	names, err := p.hostsOf(l)
	if err != nil {
		return err
	}
	for _, h := range l.hosts.Hosts { // what is left of a host whose disk is gone
		if !slices.Contains(names, h.Name) {
			names = append(names, h.Name)
		}
	}
	if err := p.removeHosts(ctx, l, names, to); err != nil {
		return err
	}
	return p.removeCluster(ctx, l)
}

// hostsOf gives the names of the hosts that have a disk.
func (p *Provider) hostsOf(l layout) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(p.clusterDir(l), "hosts"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list the hosts of cluster %s: %w", l.cluster, err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, nil
}

// unnamed gives the hosts that have a disk and are not in the spec.
func (p *Provider) unnamed(l layout) ([]string, error) {
	names, err := p.hostsOf(l)
	return slices.DeleteFunc(names, func(name string) bool {
		_, named := l.hosts.Get(name)
		return named
	}), err
}

// withUnnamed is the hosts of the spec, and those that have a disk still: they are reached until
// they are pruned.
func (p *Provider) withUnnamed(l layout) inventory.Inventory {
	out := inventory.Inventory{Hosts: slices.Clone(l.hosts.Hosts)}
	names, err := p.unnamed(l)
	if err != nil {
		return out // Prune tells of it
	}
	for _, name := range names {
		text, err := os.ReadFile(p.disk(l, name).path("address"))
		if a, bad := netip.ParseAddr(string(text)); err == nil && bad == nil {
			out.Hosts = append(out.Hosts, inventory.Host{Name: name, Address: a})
		}
	}
	return out
}

// removeHosts deletes hosts, several at once, and goes on past the ones that resist.
func (p *Provider) removeHosts(ctx context.Context, l layout, names []string, to event.Sink) error {
	return each(names, func(name string) error {
		began := time.Now()
		text := "delete host " + name
		step(to, event.StepStart, name, text, 0, nil)
		err := p.removeHost(ctx, l, name)
		step(to, event.StepEnd, name, text, time.Since(began), err)
		return err
	})
}

// removeCluster deletes what the hosts shared. The record of the owner goes last.
func (p *Provider) removeCluster(ctx context.Context, l layout) error {
	err := errors.Join(
		removeSwitch(l),
		removeCgroup(ctx, cgroupName(l.cluster)),
		removeAll(p.runtimeDir(l)),
		removeAll(p.sshDir()),
	)
	if err != nil {
		return fmt.Errorf("remove cluster %s: %w", l.cluster, err)
	}
	if err := removeAll(p.clusterDir(l)); err != nil {
		return err
	}
	return removeParents()
}

// removeParents removes what all clusters share, with the last of them.
func removeParents() error {
	dirs, err := cgroupDirs(cgroupName(""))
	for _, d := range slices.Concat(dirs, []string{dataDir, runDir, filepath.Dir(runDir)}) {
		if e := os.Remove(d); e != nil && !errors.Is(e, fs.ErrNotExist) && !errors.Is(e, unix.ENOTEMPTY) && !errors.Is(e, unix.EBUSY) {
			err = errors.Join(err, e)
		}
	}
	return err
}

func removeAll(path string) error {
	if err := os.RemoveAll(path); err != nil {
		return fmt.Errorf("remove %s: %w", path, err)
	}
	return nil
}
