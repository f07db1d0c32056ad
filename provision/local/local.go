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
//	CacheDir/programs             programs that new hosts have from the start, likewise
package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"clusterctl/provision"
	"clusterctl/provision/event"
	"clusterctl/provision/inventory"
	"clusterctl/provision/spec"

	"golang.org/x/sync/errgroup"
)

const (
	dataDir = "/var/lib/clusterctl/local"
	runDir  = "/run/clusterctl/local"

	// parallel is how many hosts are worked on at the same moment.
	parallel = 8
)

// Options is what a Provider is made of.
type Options struct {
	StateDir string       // the cluster's own state directory; SSH keys are made in it
	CacheDir string       // for base trees; shared by clusters
	Runc     string       // path of the runc binary
	Log      *slog.Logger // nil: nothing is logged

	programs []provision.Program
}

// Provider makes hosts on this machine. It is safe for concurrent use; of two changes of one
// cluster at the same moment the second is refused.
type Provider struct{ opts Options }

var (
	_ provision.Provider = (*Provider)(nil)
	_ provision.Pruner   = (*Provider)(nil)

	_ provision.Discarder = (*Provider)(nil)
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
func (p *Provider) Inventory(_ context.Context, s *spec.Cluster) (inventory.Inventory, error) {
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
	if err := p.checkOwner(l); err != nil {
		return nil, err
	}
	if err := p.checkAddresses(l); err != nil {
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
	if mk.keys, err = p.ensureKeys(p.withUnnamed(l)); err != nil {
		return inventory.Inventory{}, err
	}
	if mk.layers, err = p.ensureLayers(ctx, to); err != nil {
		return inventory.Inventory{}, err
	}
	if err := ensureSwitch(l); err != nil {
		return inventory.Inventory{}, err
	}
	if err := each(l.hosts.Hosts, func(h inventory.Host) error { return mk.ensureHost(ctx, h) }); err != nil {
		return inventory.Inventory{}, err
	}
	return p.Inventory(ctx, s)
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
