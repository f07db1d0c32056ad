package phases

import (
	"context"
	"fmt"
	"slices"
	"time"

	"clusterctl/components/resource"
	"clusterctl/phases/health"
	"clusterctl/provision/inventory"
)

// Leaver is a host that is in the cluster and not in the spec any more.
type Leaver struct {
	Host inventory.Host
	Away bool // it cannot be reached: what runs on it goes on, its data stays
	// First is a host that goes before others come: one of the spec takes its address, or its etcd
	// member is dead and would count when the next one joins.
	First bool
}

// Leavers gives the hosts that were in the cluster and that the spec does not name any more.
func Leavers(inv inventory.Inventory, before []inventory.Host) []Leaver {
	var out []Leaver
	for _, h := range before {
		_, named := inv.Get(h.Name)
		if named || slices.ContainsFunc(out, func(l Leaver) bool { return l.Host.Name == h.Name }) {
			continue
		}
		taken := slices.ContainsFunc(inv.Hosts, func(o inventory.Host) bool {
			return o.Address == h.Address || h.SSH.Address != "" && o.SSH.Address == h.SSH.Address && o.SSH.Port == h.SSH.Port
		})
		out = append(out, Leaver{Host: h, First: taken})
	}
	return out
}

// leaving gives the phase's hosts: workers before control planes.
func (c *Cluster) leaving(first bool) []Leaver {
	var workers, planes []Leaver
	for _, l := range c.Leaving {
		switch {
		case l.First != first:
		case l.Host.Role == inventory.ControlPlane:
			planes = append(planes, l)
		default:
			workers = append(workers, l)
		}
	}
	slices.SortStableFunc(planes, func(a, b Leaver) int { return c.alive(a) - c.alive(b) })
	return append(workers, planes...)
}

// alive is 0 for a host whose member is dead, which goes before those that the quorum may need.
func (c *Cluster) alive(l Leaver) int {
	if m, ok := c.Members.Find(l.Host.Name, peerURL(l.Host)); ok && m.Alive {
		return 1
	}
	return 0
}

// leaveWaves takes hosts out of the cluster one after the other: its pods move to others, the etcd
// member goes while the others are a quorum, then all that runs on the host, then the node object. A host that cannot be
// reached only goes from the lists.
func leaveWaves(first bool) func(*Cluster, map[string]bool) ([]Wave, error) {
	return func(c *Cluster, _ map[string]bool) ([]Wave, error) {
		var waves []Wave
		for _, l := range c.leaving(first) {
			waves = append(waves, c.leave(l)...)
		}
		return waves, nil
	}
}

func (c *Cluster) leave(l Leaver) []Wave {
	var waves []Wave
	add := func(before func(*Env) []health.Condition, rs ...resource.Resource) {
		waves = append(waves, Wave{Resources: rs, Entry: before})
	}
	if !l.Away && len(c.Inventory.Workers()) > 0 { // without another worker pods have nowhere to go
		add(nil, resource.NoPods{Node: l.Host.Name})
	}
	if l.Host.Role == inventory.ControlPlane {
		member := resource.NoMember{Name: l.Host.Name, PeerURL: peerURL(l.Host)}
		add(func(e *Env) []health.Condition { return []health.Condition{e.othersAreQuorum(member)} }, member)
	}
	if !l.Away {
		add(nil, resource.Vacant{Host: l.Host.Name, UID: c.Secrets.ClusterUID(), Owned: c.owned(l.Host), Purge: c.Purge})
	}
	add(nil, resource.NoNode{Name: l.Host.Name})
	return waves
}

// owned is what the cluster may have put on a host; certificates that were dropped do not matter.
func (c *Cluster) owned(h inventory.Host) []resource.Resource {
	rs, err := c.onHost(h, nil, everything)
	if err != nil {
		return nil // its own record, and what is fixed, says the same
	}
	return rs
}

// othersAreQuorum: without the member the others are a quorum, and each of them answers.
func (e *Env) othersAreQuorum(leaves resource.NoMember) health.Condition {
	return health.Condition{Name: "etcd is a quorum without " + leaves.Name, Timeout: 30 * time.Second, Check: func(ctx context.Context) error {
		list, err := e.Etcd().List(ctx, etcdPatience)
		if err != nil {
			return err
		}
		m, ok := list.Find(leaves.Name, leaves.PeerURL)
		if !ok {
			return nil
		}
		if err := list.MayRemove(m.ID); err != nil {
			return err
		}
		for _, o := range list.Without(m.ID).Voters() {
			if !o.Alive && m.Alive {
				return fmt.Errorf("etcd member %s does not answer: removing one that does would leave no room for another loss", o.Title())
			}
		}
		return nil
	}}
}
