// Package local makes hosts on this machine: each is a runc container that boots systemd and
// sshd on an overlay of a small Debian tree, in a network namespace of its own. Whoever uses a
// host sees an SSH host and nothing of this package. It needs root, and works on cgroup v1 and
// v2.
//
// What it keeps where, for a cluster c:
//
//	/var/lib/clusterctl/local/c   whose the cluster is, and the hosts' disks
//	/run/clusterctl/local/c       runc's state
//	/run/netns/cc-*               the hosts' networks
//	cgroup /clusterctl/c          the hosts' processes
//	StateDir/ssh                  keys and known_hosts
//	CacheDir/base                 the Debian tree, shared by all clusters and kept
package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"clusterctl/provision"
	"clusterctl/provision/event"
	"clusterctl/provision/inventory"
	"clusterctl/provision/spec"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

const (
	dataDir = "/var/lib/clusterctl/local"
	runDir  = "/run/clusterctl/local"

	// phase is what events say they belong to.
	phase = "hosts"
	// parallel is how many hosts are worked on at the same moment.
	parallel = 8
)

// Options is what a Provider is made of.
type Options struct {
	StateDir string       // the cluster's own state directory; SSH keys are made in it
	CacheDir string       // for base trees; shared by clusters
	Runc     string       // path of the runc binary
	Log      *slog.Logger // nil: nothing is logged
}

// Provider makes hosts on this machine. It is safe for concurrent use; of two changes of one
// cluster at the same moment the second is refused.
type Provider struct{ opts Options }

var (
	_ provision.Provider = (*Provider)(nil)
	_ provision.Pruner   = (*Provider)(nil)
)

// New gives a provider. It touches nothing.
func New(o Options) *Provider {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	// The paths are recorded and given to others, who may be elsewhere.
	o.StateDir, o.CacheDir = absolute(o.StateDir), absolute(o.CacheDir)
	return &Provider{o}
}

// absolute leaves a path alone when this process's directory is gone; using it tells then.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// Inventory is Plan with the paths of the SSH key and of known_hosts. It is pure; the files are
// made by Ensure.
func (p *Provider) Inventory(s *spec.Cluster) (inventory.Inventory, error) {
	inv, err := Plan(s)
	for i := range inv.Hosts {
		inv.Hosts[i].SSH.KeyPath = p.loginKeyPath()
		inv.Hosts[i].SSH.KnownHostsPath = p.knownHostsPath()
	}
	return inv, err
}

// Preview says what Ensure and Prune would do. Before the cluster exists it needs no root.
func (p *Provider) Preview(ctx context.Context, s *spec.Cluster) ([]provision.Change, error) {
	l, err := newLayout(s)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(p.checkOwner(l), p.checkAddresses(l)); err != nil {
		return nil, err
	}
	base, _, err := p.basePath()
	if err != nil {
		return nil, err
	}
	changes := []provision.Change{
		{Verb: presence(isDir(base)), Kind: "base tree", Name: filepath.Base(base), Detail: "Debian for all local hosts, cached in " + p.opts.CacheDir},
		{Verb: presence(isNamespace(l.net)), Kind: "network", Name: l.net, Detail: l.subnet.String()},
	}
	for _, h := range l.hosts.Hosts {
		verb, err := p.verb(ctx, l, h.Name)
		if err != nil {
			return nil, err
		}
		changes = append(changes, provision.Change{Verb: verb, Kind: "host", Name: h.Name, Detail: h.Address.String()})
	}
	extra, err := p.unnamed(l)
	for _, name := range extra {
		changes = append(changes, provision.Change{Verb: provision.Delete, Kind: "host", Name: name, Detail: "not in the spec"})
	}
	return changes, err
}

func presence(there bool) provision.Verb {
	if there {
		return provision.Keep
	}
	return provision.Create
}

// Ensure makes the hosts that are missing, starts those that are off, and returns when the sshd
// of each answers; systemd may still be at work then. Hosts outlive this process.
func (p *Provider) Ensure(ctx context.Context, s *spec.Cluster, to event.Sink) (inventory.Inventory, error) {
	l, err := newLayout(s)
	if err != nil {
		return inventory.Inventory{}, err
	}
	m, err := p.inspect()
	if err != nil {
		return inventory.Inventory{}, err
	}
	c, err := p.create(ctx, l)
	if err != nil {
		return inventory.Inventory{}, err
	}
	defer c.release()
	if err := p.checkAddresses(l); err != nil {
		return inventory.Inventory{}, err
	}
	if err := removeAll(p.removedDir(l)); err != nil {
		return inventory.Inventory{}, err
	}
	mk := maker{Provider: p, layout: l, claim: c, machine: m, to: to}
	if mk.keys, err = p.ensureKeys(l.hosts); err != nil {
		return inventory.Inventory{}, err
	}
	if mk.base, err = p.ensureBase(ctx, to); err != nil {
		return inventory.Inventory{}, err
	}
	if err := ensureSwitch(l); err != nil {
		return inventory.Inventory{}, err
	}
	if err := each(l.hosts.Hosts, func(h inventory.Host) error { return mk.ensureHost(ctx, h) }); err != nil {
		return inventory.Inventory{}, err
	}
	return p.Inventory(s)
}

// checkAddresses refuses a spec that gives hosts other addresses than they were made with.
func (p *Provider) checkAddresses(l layout) error {
	if err := p.checkSubnet(l); err != nil {
		return err
	}
	var errs []error
	for _, h := range l.hosts.Hosts {
		errs = append(errs, p.disk(l, h.Name).checkAddress(h))
	}
	return errors.Join(errs...)
}

// Stop cuts the power of one host: its processes are killed, its address answers no more, its
// disk stays. Ensure starts it again.
func (p *Provider) Stop(ctx context.Context, s *spec.Cluster, host string) error {
	l, err := newLayout(s)
	if err != nil {
		return err
	}
	c, err := p.claim(ctx, l)
	if err != nil {
		return err
	}
	defer c.release()
	if !isDir(p.disk(l, host).dir) {
		return fmt.Errorf("stop host %s: cluster %s has no such host", host, l.cluster)
	}
	return errors.Join(p.powerOff(ctx, l, host), removePort(l, host))
}

// Prune deletes the hosts that exist and that the spec does not name.
func (p *Provider) Prune(ctx context.Context, s *spec.Cluster, to event.Sink) error {
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
	names, err := p.unnamed(l)
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

// each does work for all items, a few at once, and joins the errors in the items' order.
func each[T any](items []T, work func(T) error) error {
	var g errgroup.Group
	g.SetLimit(parallel)
	errs := make([]error, len(items))
	for i, item := range items {
		g.Go(func() error {
			errs[i] = work(item)
			return nil
		})
	}
	g.Wait()
	return errors.Join(errs...)
}

func note(to event.Sink, host, text string) {
	to.Emit(event.Event{Time: time.Now(), Kind: event.Note, Phase: phase, Host: host, Text: text})
}

func step(to event.Sink, kind event.Kind, host, text string, took time.Duration, err error) {
	to.Emit(event.Event{Time: time.Now(), Kind: kind, Phase: phase, Host: host, Text: text, Took: took, Err: err})
}
