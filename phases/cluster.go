// Package phases is the runbooks: written lists of phases, each a value that says which
// resources every host must have, in which waves, and what must hold before the next. One
// engine observes, compares, applies and waits for all of them.
package phases

import (
	"fmt"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"clusterctl/components"
	"clusterctl/components/balancer"
	"clusterctl/components/bundle"
	"clusterctl/components/cloudcontroller"
	"clusterctl/components/cni"
	"clusterctl/components/containerd"
	"clusterctl/components/etcd"
	"clusterctl/components/flannel"
	"clusterctl/components/kubernetes"
	"clusterctl/components/linux"
	"clusterctl/components/release"
	"clusterctl/components/resource"
	"clusterctl/phases/etcdapi"
	"clusterctl/pki"
	"clusterctl/provision"
	"clusterctl/provision/inventory"
	"clusterctl/provision/spec"
)

// Cluster is all that plans are made from. It is a value: nothing in it reaches a host.
type Cluster struct {
	Spec      *spec.Cluster
	Inventory inventory.Inventory
	Release   release.Release
	Secrets   *pki.Secrets
	Identity  components.Identity
	Binaries  map[string]components.Binary
	Facts     map[string]components.HostFacts // by host; a host that is missing is taken for a plain machine
	Running   Versions                        // what runs on the hosts that were asked
	Emulating Versions                        // of what runs, the minor versions that are emulated
	Leader    string                          // etcd's, where it was asked; it is restarted last
	Members   etcdapi.Members                 // etcd's member list as it was seen; nil: it was not
	Leaving   []Leaver                        // hosts that are in the cluster and not in the spec
	Replacing string                          // a control plane whose member is made anew
	Forced    bool                            // it is made anew although it is alive
	Remade    []string                        // hosts whose node object is of a machine that is gone
	Purge     bool                            // data of hosts that leave is deleted

	// CloudObjects are those of the spec's file with a cloud controller.
	CloudObjects []resource.Resource

	FormerBinaries map[string]components.Binary // those of Release.Former

	made *made // what components gave already, in a value that lives for one plan
}

// made keeps the resources of components: several phases look at the same ones.
type made struct {
	mu      sync.Mutex
	byOwner map[owner][]resource.Resource
	written components.Written
}

func (m *made) get(o owner) ([]resource.Resource, bool) {
	if m == nil {
		return nil, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	rs, ok := m.byOwner[o]
	return rs, ok
}

func (m *made) put(o owner, rs []resource.Resource) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.byOwner[o] = rs
}

// owner is a component on a host.
type owner struct{ host, component string }

// remembering gives the same cluster, which asks each component once for each host. Its fields
// must not change from then on.
func (c *Cluster) remembering() *Cluster {
	next := *c
	next.made = &made{byOwner: map[owner][]resource.Resource{}}
	return &next
}

// plainHost is what a machine is taken for before it was asked.
var plainHost = components.HostFacts{CgroupV2: true, SysResource: true, ResolvConf: "/etc/resolv.conf"}

// Node is what components may look at for one host.
func (c *Cluster) Node(h inventory.Host) components.Node {
	facts, ok := c.Facts[h.Name]
	if !ok {
		facts = plainHost
	}
	n := components.Node{
		Spec: c.Spec, Inventory: c.Inventory, Host: h, Facts: facts, Release: c.Release,
		Secrets: c.Secrets, Identity: c.Identity, Binaries: c.Binaries, EtcdStart: c.etcdStart(h), Emulated: c.Release.Emulated(),
	}
	if c.made != nil {
		n.Written = &c.made.written
	}
	return n
}

// Known is the inventory with the hosts that leave.
func (c *Cluster) Known() inventory.Inventory {
	out := inventory.Inventory{Hosts: slices.Clone(c.Inventory.Hosts)}
	for _, l := range c.Leaving {
		out.Hosts = append(out.Hosts, l.Host)
	}
	return out
}

// reachable gives the hosts without those that cannot be reached in this run. What the others are
// told of the cluster stays whole.
func (c *Cluster) reachable(skip map[string]bool) []inventory.Host {
	return slices.DeleteFunc(slices.Clone(c.Inventory.Hosts), func(h inventory.Host) bool { return skip[h.Name] })
}

// componentsOf lists what runs on a host, in the order in which it is put there.
func componentsOf(h inventory.Host) []components.Component {
	out := []components.Component{linux.Component{}}
	if h.Role == inventory.ControlPlane {
		out = append(out, etcd.Component{}, kubernetes.APIServer{}, kubernetes.ControllerManager{}, kubernetes.Scheduler{}, cloudcontroller.AWS{})
	}
	return append(out, containerd.Component{}, cni.Component{}, balancer.Component{}, kubernetes.Kubectl{}, kubernetes.Kubelet{},
		kubernetes.Proxy{}, flannel.Component{})
}

// images are the archives that every host holds, since pods may run on any.
var images = []string{"pause-image", "coredns-image"}

// resources gives the resources of the named components on all hosts that keep accepts.
func (c *Cluster) resources(skip map[string]bool, names []string, keep func(resource.Resource) bool) ([]resource.Resource, error) {
	hosts := c.reachable(skip)
	kept, errs := make([][]resource.Resource, len(hosts)), make([]error, len(hosts))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, h := range hosts {
		g.Go(func() error {
			kept[i], errs[i] = c.onHost(h, names, keep)
			return nil
		})
	}
	_ = g.Wait() // every error is in errs
	for _, err := range errs {
		if err != nil {
			return nil, err // one host's is enough: it is mostly the same for all
		}
	}
	return slices.Concat(kept...), nil
}

func (c *Cluster) onHost(h inventory.Host, names []string, keep func(resource.Resource) bool) ([]resource.Resource, error) {
	var out []resource.Resource
	n := c.Node(h)
	for _, comp := range componentsOf(h) {
		if !wanted(c.Spec, comp.Name(), names) {
			continue
		}
		rs, err := c.of(comp, n)
		if err != nil {
			return nil, err
		}
		for _, r := range rs {
			if keep(r) {
				out = append(out, r)
			}
		}
	}
	return out, nil
}

// Units are the names of the units that a host of the cluster runs, with suffix.
func Units(c *Cluster, h inventory.Host) []string {
	var out []string
	for _, r := range c.owned(h) {
		if r.Key().Kind == resource.KindUnit {
			out = append(out, r.Key().Name)
		}
	}
	return out
}

// of gives a component's resources on a node; those of the runtime include the images.
func (c *Cluster) of(comp components.Component, n components.Node) ([]resource.Resource, error) {
	key := owner{n.Host.Name, comp.Name()}
	if rs, ok := c.made.get(key); ok {
		return rs, nil
	}
	if c.Release.Former != nil && !release.Emulates(comp.Name()) {
		n.Release, n.Binaries = *c.Release.Former, c.FormerBinaries
	}
	rs, err := comp.Resources(n)
	if err != nil {
		return nil, fmt.Errorf("%s on %s: %w", comp.Name(), n.Host.Name, err)
	}
	if comp.Name() == "containerd" {
		imgs, err := containerd.Images(n, images...)
		if err != nil {
			return nil, fmt.Errorf("images on %s: %w", n.Host.Name, err)
		}
		rs = append(rs, imgs...)
	}
	c.made.put(key, rs)
	return rs, nil
}

// wanted tells whether a component is asked for (no names: all) and part of this spec.
func wanted(s *spec.Cluster, name string, names []string) bool {
	if name == "flanneld" && s.Spec.Network.CNI != "flannel" {
		return false
	}
	if name == cloudcontroller.AWSName && !s.Spec.Provider.OwnCloudController() {
		return false
	}
	return len(names) == 0 || slices.Contains(names, name)
}

// Programs is all that hosts receive from the bundles, each path once.
func Programs(c *Cluster, bundles ...*bundle.Bundle) ([]provision.Program, error) {
	wants, err := Wants(c, Up(), nil)
	if err != nil {
		return nil, err
	}
	sources := map[string]string{}
	for _, b := range bundles {
		for _, a := range b.Artifacts() {
			sources[a.SHA256] = b.Path(a)
		}
	}
	var out []provision.Program
	seen := map[string]bool{}
	for _, w := range wants {
		if a, ok := w.(resource.Artifact); ok && !seen[a.Path] {
			seen[a.Path] = true
			out = append(out, provision.Program{Path: a.Path, Mode: a.Mode, SHA256: a.SHA256, Source: sources[a.SHA256]})
		}
	}
	return out, nil
}

// InstallSize is the bytes that a host receives from the bundle.
func InstallSize(c *Cluster) int64 {
	var n int64
	for name, b := range c.Binaries {
		if name != cloudcontroller.AWSName || c.Spec.Spec.Provider.OwnCloudController() {
			n += b.Size
		}
	}
	return n
}
