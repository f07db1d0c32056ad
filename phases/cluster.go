// Package phases is the runbooks: written lists of phases, each a value that says which
// resources every host must have, in which waves, and what must hold before the next. One
// engine observes, compares, applies and waits for all of them.
package phases

import (
	"fmt"

	"clusterctl/components"
	"clusterctl/components/balancer"
	"clusterctl/components/cni"
	"clusterctl/components/containerd"
	"clusterctl/components/etcd"
	"clusterctl/components/flannel"
	"clusterctl/components/kubernetes"
	"clusterctl/components/linux"
	"clusterctl/components/release"
	"clusterctl/components/resource"
	"clusterctl/pki"
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
}

// plainHost is what a machine is taken for before it was asked.
var plainHost = components.HostFacts{CgroupV2: true, SysResource: true, ResolvConf: "/etc/resolv.conf"}

// Node is what components may look at for one host.
func (c *Cluster) Node(h inventory.Host) components.Node {
	facts, ok := c.Facts[h.Name]
	if !ok {
		facts = plainHost
	}
	return components.Node{
		Spec: c.Spec, Inventory: c.Inventory, Host: h, Facts: facts, Release: c.Release,
		Secrets: c.Secrets, Identity: c.Identity, Binaries: c.Binaries,
	}
}

// Without gives the cluster without some hosts: those that cannot be reached in this run. What
// the others are told of the cluster stays whole.
func (c *Cluster) reachable(skip map[string]bool) []inventory.Host {
	var out []inventory.Host
	for _, h := range c.Inventory.Hosts {
		if !skip[h.Name] {
			out = append(out, h)
		}
	}
	return out
}

// componentsOf lists what runs on a host, in the order in which it is put there.
func componentsOf(h inventory.Host) []components.Component {
	out := []components.Component{linux.Component{}}
	if h.Role == inventory.ControlPlane {
		out = append(out, etcd.Component{}, kubernetes.APIServer{}, kubernetes.ControllerManager{}, kubernetes.Scheduler{})
	}
	return append(out, containerd.Component{}, cni.Component{}, balancer.Component{}, kubernetes.Kubectl{}, kubernetes.Kubelet{},
		kubernetes.Proxy{}, flannel.Component{})
}

// images are the archives that every host holds, since pods may run on any.
var images = []string{"pause-image", "coredns-image"}

// resources gives the resources of the named components on all hosts that keep accepts.
func (c *Cluster) resources(skip map[string]bool, names []string, keep func(resource.Resource) bool) ([]resource.Resource, error) {
	var out []resource.Resource
	for _, h := range c.reachable(skip) {
		n := c.Node(h)
		for _, comp := range componentsOf(h) {
			if !wanted(c.Spec, comp.Name(), names) {
				continue
			}
			rs, err := comp.Resources(n)
			if err != nil {
				return nil, fmt.Errorf("%s on %s: %w", comp.Name(), h.Name, err)
			}
			if comp.Name() == "containerd" {
				imgs, err := containerd.Images(n, images...)
				if err != nil {
					return nil, fmt.Errorf("images on %s: %w", h.Name, err)
				}
				rs = append(rs, imgs...)
			}
			for _, r := range rs {
				if keep(r) {
					out = append(out, r)
				}
			}
		}
	}
	return out, nil
}

// wanted tells whether a component is asked for (no names: all) and part of this spec.
func wanted(s *spec.Cluster, name string, names []string) bool {
	if name == "flanneld" && s.Spec.Network.CNI != "flannel" {
		return false
	}
	if len(names) == 0 {
		return true
	}
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}

// InstallSize is the bytes that a host receives from the bundle.
func InstallSize(c *Cluster) int64 {
	var n int64
	for _, b := range c.Binaries {
		n += b.Size
	}
	return n
}
