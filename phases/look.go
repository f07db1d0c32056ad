package phases

import (
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"slices"

	"clusterctl/components/resource"
	"clusterctl/provision/inventory"
)

// asked are the hosts that are observed: those of the spec, and those that leave.
func (c *Cluster) asked(absent map[string]bool) []inventory.Host {
	out := c.reachable(absent)
	for _, l := range c.Leaving {
		if l.Host.SSH.Address != "" {
			out = append(out, l.Host)
		}
	}
	return out
}

// dataOf asks every control plane whether it holds etcd's data.
func dataOf(c *Cluster) []resource.Resource {
	var out []resource.Resource
	for _, h := range c.Inventory.ControlPlanes() {
		out = append(out, resource.Aside{Host: h.Name})
	}
	return out
}

// observeEtcd asks etcd for its members where one runs. A list that cannot be had is brought back
// by the phase etcd.
func observeEtcd(ctx context.Context, e *Env, out Observed) error {
	e.Cluster.Members, e.Cluster.Leader = nil, ""
	if !runs(e.Cluster, out.Facts, "etcd.service") {
		return nil
	}
	list, err := e.Etcd().List(ctx, etcdPatience)
	if err != nil {
		out.Errors["etcd"] = err
		return ctx.Err()
	}
	e.Cluster.Members = list
	if leader, ok := list.Leader(); ok {
		e.Cluster.Leader = leader.Name
	}
	return nil
}

// runs tells whether a unit runs on any control plane.
func runs(c *Cluster, facts resource.Facts, unit string) bool {
	return slices.ContainsFunc(c.Inventory.ControlPlanes(), func(h inventory.Host) bool {
		return facts[resource.Key{Host: h.Name, Kind: resource.KindUnit, Name: unit}].Active
	})
}

// settle takes what was seen into the cluster: who leaves, and which facts are none.
func (c *Cluster) settle(out Observed) {
	known := c.Known()
	var strangers []inventory.Host
	for _, m := range c.Members {
		if _, ok := known.Get(m.Name); !ok && !slices.ContainsFunc(known.Hosts, func(h inventory.Host) bool { return m.Name == "" && peerURL(h) == m.PeerURL }) {
			strangers = append(strangers, memberHost(m.Name, m.ID, m.PeerURL))
		}
	}
	names := map[string]bool{}
	for _, h := range known.Hosts {
		names[h.Name] = true
	}
	for k, fact := range out.Facts {
		if k.Kind == resource.KindNoNode && !names[k.Name] && fact != resource.Gone() {
			strangers = append(strangers, inventory.Host{Name: k.Name, Role: inventory.Worker})
		}
	}
	c.Remade = c.remade(out.Facts)
	slices.SortFunc(strangers, func(a, b inventory.Host) int {
		return slices.Compare([]string{string(a.Role), a.Name}, []string{string(b.Role), b.Name})
	})
	c.Leaving = append(c.Leaving, Leavers(c.Inventory, strangers)...)
	for i, l := range c.Leaving {
		m, ok := c.Members.Find(l.Host.Name, peerURL(l.Host))
		c.Leaving[i].Away = l.Host.SSH.Address == "" || out.Away[l.Host.Name] != nil
		c.Leaving[i].First = l.First || ok && !m.Alive
	}
	for name := range c.Taken() {
		for k := range out.Facts {
			if k.Host == name {
				delete(out.Facts, k) // of the host that leaves, which takes all of it along
			}
		}
	}
	if m, ok := c.Members.Find(c.Replacing, ""); c.Members != nil && (!ok || !m.Voter || m.Alive && !c.Forced) {
		c.Replacing = "" // its entry is gone already, or nothing is wrong with it
	}
	for k, v := range c.memberFacts() {
		out.Facts[k] = v
	}
}

// remade are the hosts whose node object is of a machine that is gone: what tells machines apart on a node
// can be set once only.
func (c *Cluster) remade(facts resource.Facts) []string {
	var out []string
	for _, h := range c.Inventory.Hosts {
		if facts[resource.Node{Host: h.Name}.Key()].Detail == resource.OtherMachine {
			out = append(out, h.Name)
		}
	}
	return out
}

// memberHost is a host of which only its entry in the member list is known.
func memberHost(name string, id uint64, peerURL string) inventory.Host {
	h := inventory.Host{Name: name, Role: inventory.ControlPlane}
	if name == "" {
		h.Name = fmt.Sprintf("member-%x", id)
	}
	if u, err := url.Parse(peerURL); err == nil {
		h.Address, _ = netip.ParseAddr(u.Hostname()) // a name is none: such a host is found by its own
	}
	return h
}

// Taken are the hosts of the spec that take the address of one that leaves.
func (c *Cluster) Taken() map[string]bool {
	out := map[string]bool{}
	for _, l := range c.Leaving {
		for _, h := range c.Inventory.Hosts {
			if l.First && (h.Address == l.Host.Address || h.SSH.Address == l.Host.SSH.Address && h.SSH.Port == l.Host.SSH.Port) {
				out[h.Name] = true
			}
		}
	}
	return out
}
