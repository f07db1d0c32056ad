package phases

import (
	"slices"

	"clusterctl/components"
	"clusterctl/components/resource"
	"clusterctl/phases/state"
	"clusterctl/provision/inventory"
)

// peerURL is where the other members find the member on a control plane.
func peerURL(h inventory.Host) string {
	return components.URL("https", h.Address.String(), components.EtcdPeerPort)
}

// joins tells whether a control plane's etcd member has to be added. Without a member list only
// those that found the cluster are members.
func (c *Cluster) joins(h inventory.Host) bool {
	if c.Replacing == h.Name {
		return true
	}
	if c.Members == nil {
		return !c.founds(h)
	}
	m, ok := c.Members.Find(h.Name, peerURL(h))
	return !ok || !m.Voter
}

// founds tells whether a control plane is one of those that the cluster was founded with.
func (c *Cluster) founds(h inventory.Host) bool {
	return slices.ContainsFunc(c.Identity.EtcdMembers, func(m components.EtcdMember) bool { return m.Name == h.Name && m.PeerURL == peerURL(h) })
}

// joiners are the control planes whose members have to be added, in order: one after the other.
func (c *Cluster) joiners(skip map[string]bool) []inventory.Host {
	return slices.DeleteFunc(c.planes(skip), func(h inventory.Host) bool { return !c.joins(h) })
}

func (c *Cluster) planes(skip map[string]bool) []inventory.Host {
	return slices.DeleteFunc(c.Inventory.ControlPlanes(), func(h inventory.Host) bool { return skip[h.Name] })
}

// learner is the entry of a control plane whose member has started and does not vote yet: a run
// ended before it caught up. An entry that never started is taken out and added anew.
func (c *Cluster) learner(h inventory.Host) bool {
	m, ok := c.Members.Find(h.Name, peerURL(h))
	return ok && !m.Voter && m.Started && c.Replacing != h.Name
}

// etcdStart is what the member on a control plane starts with when it has no data: the founders,
// or the list as it will be once this one was added.
func (c *Cluster) etcdStart(h inventory.Host) components.EtcdStart {
	if h.Role != inventory.ControlPlane || !c.joins(h) {
		return components.EtcdStart{}
	}
	out := components.EtcdStart{Existing: true, Members: c.entries()}
	for _, j := range c.Inventory.ControlPlanes() {
		m := components.EtcdMember{Name: j.Name, PeerURL: peerURL(j)}
		if c.joins(j) && !slices.ContainsFunc(out.Members, func(o components.EtcdMember) bool { return o.PeerURL == m.PeerURL }) {
			out.Members = append(out.Members, m)
		}
		if j.Name == h.Name {
			break
		}
	}
	return out
}

// entries are the members that are in the list when the first one joins: without those that leave
// before, and without entries that are made anew.
func (c *Cluster) entries() []components.EtcdMember {
	if c.Members == nil {
		return slices.Clone(c.Identity.EtcdMembers)
	}
	var out []components.EtcdMember
	for _, m := range c.Members {
		name := m.Name
		if i := slices.IndexFunc(c.Inventory.Hosts, func(h inventory.Host) bool { return peerURL(h) == m.PeerURL }); name == "" && i >= 0 {
			name = c.Inventory.Hosts[i].Name
		}
		leaves := slices.ContainsFunc(c.Leaving, func(l Leaver) bool { return l.First && l.Host.Name == name })
		if name == c.Replacing || leaves || !m.Voter && !m.Started {
			continue
		}
		out = append(out, components.EtcdMember{Name: name, PeerURL: m.PeerURL})
	}
	return out
}

// memberFacts turns the member list into facts: of the entries, and of entries that are not there.
func (c *Cluster) memberFacts() resource.Facts {
	facts := resource.Facts{}
	if c.Members == nil {
		return facts
	}
	absent := func(h inventory.Host) {
		facts[resource.NoMember{Name: h.Name}.Key()] = resource.Gone()
		if m, ok := c.Members.Find(h.Name, peerURL(h)); ok {
			facts[resource.NoMember{Name: h.Name}.Key()] = resource.Present("")
			for k, v := range resource.MemberFacts(h.Name, m.PeerURL, m.Voter) {
				facts[k] = v
			}
		}
	}
	for _, h := range c.Inventory.ControlPlanes() {
		absent(h)
	}
	for _, l := range c.Leaving {
		absent(l.Host)
	}
	return facts
}

// LostData names the control planes whose etcd member votes, has been up, and has no data now: it
// must not start with nothing, since it forgot what it agreed to.
func LostData(c *Cluster, facts resource.Facts) []string {
	var out []string
	for _, h := range c.Inventory.ControlPlanes() {
		m, ok := c.Members.Find(h.Name, peerURL(h))
		data, seen := facts[resource.Aside{Host: h.Name}.Key()]
		if ok && m.Voter && m.Started && !m.Alive && seen && data == resource.Gone() && c.Replacing != h.Name {
			out = append(out, h.Name)
		}
	}
	return out
}

// founders are the members of a cluster that is founded now.
func founders(inv inventory.Inventory) []state.Member {
	var out []state.Member
	for _, h := range inv.ControlPlanes() {
		out = append(out, state.Member{Name: h.Name, PeerURL: peerURL(h)})
	}
	return out
}
