package phases

import (
	"context"
	"fmt"
	"time"

	"clusterctl/components/resource"
	"clusterctl/phases/health"
	"clusterctl/provision/inventory"
)

// etcdWaves: the members that vote already, then those that join, one after the other. A member
// that joins is added as a learner, started, and votes only when it has caught up: until then the
// cluster needs it for nothing. Of members that are restarted the leader comes last, when the others
// can follow a new version.
func etcdWaves(c *Cluster, skip map[string]bool) ([]Wave, error) {
	all, err := c.resources(skip, []string{"etcd"}, everything)
	if err != nil {
		return nil, err
	}
	joining := map[string]bool{}
	for _, h := range c.joiners(skip) {
		joining[h.Name] = true
	}
	byHost := map[string][]resource.Resource{}
	voting := Wave{Gates: etcdGates, Before: etcdBefore, Last: []string{c.Leader}}
	for _, r := range all {
		if name := r.Key().Host; joining[name] {
			byHost[name] = append(byHost[name], r)
		} else {
			voting.Resources = append(voting.Resources, r)
		}
	}
	waves := []Wave{voting}
	if moved := c.moved(skip); len(moved.Resources) > 0 && len(c.Members.Voters()) > 1 {
		waves = []Wave{moved, voting} // the others must know where it will be
	} else if len(moved.Resources) > 0 {
		waves = []Wave{voting, moved} // alone, it must run before its list can be changed
	}
	for _, h := range c.joiners(skip) {
		waves = append(waves, c.join(h, byHost[h.Name])...)
	}
	return waves, nil
}

// moved are members whose host has another address than the list says.
func (c *Cluster) moved(skip map[string]bool) Wave {
	var w Wave
	for _, h := range c.planes(skip) {
		if m, ok := c.Members.Find(h.Name, peerURL(h)); ok && !c.joins(h) && m.PeerURL != peerURL(h) {
			w.Resources = append(w.Resources, resource.Member{Name: h.Name, PeerURL: peerURL(h)})
		}
	}
	return w
}

// join is the waves by which one control plane becomes a voting member.
func (c *Cluster) join(h inventory.Host, etcd []resource.Resource) []Wave {
	url := peerURL(h)
	member, none := resource.Member{Name: h.Name, PeerURL: url}, resource.NoMember{Name: h.Name, PeerURL: url}
	undo := []resource.Resource{none, resource.Aside{Host: h.Name}}
	var waves []Wave
	if !c.learner(h) {
		if _, there := c.Members.Find(h.Name, url); there { // one that never started, or that is replaced
			waves = append(waves, Wave{Resources: []resource.Resource{none}})
		}
		waves = append(waves,
			Wave{Resources: []resource.Resource{resource.Aside{Host: h.Name}}},
			Wave{Resources: []resource.Resource{member}, Entry: func(e *Env) []health.Condition { return e.peersReach(h) }})
	}
	return append(waves,
		Wave{Resources: etcd, Gates: caughtUpGates, Undo: undo},
		Wave{Resources: []resource.Resource{resource.Voter{Name: h.Name, PeerURL: url}}, Entry: func(e *Env) []health.Condition { return caughtUpGates(e, h) }, Undo: undo},
		Wave{Resources: etcd, Gates: etcdGates})
}

// learnerTimeout is how long a new member may take to start and to catch up.
const learnerTimeout = 2 * time.Minute

// lag is how many entries of the log a learner may be behind when it is promoted; etcd itself asks
// for a tenth at most (server/etcdserver: readyPercentThreshold).
const lag = 500

// caughtUpGates: the member has started, and knows what the leader knows.
func caughtUpGates(e *Env, h inventory.Host) []health.Condition {
	return []health.Condition{{Name: "etcd member caught up", Host: h.Name, Timeout: learnerTimeout, Explain: e.lastLines(h.Name, "etcd"), Check: func(ctx context.Context) error {
		list, err := e.Etcd().List(ctx, etcdPatience)
		if err != nil {
			return err
		}
		m, ok := list.Find(h.Name, peerURL(h))
		leader, led := list.Leader()
		switch {
		case !ok:
			return fmt.Errorf("etcd's member list does not have it")
		case !m.Started || !m.Alive:
			return fmt.Errorf("it has not started")
		case !led:
			return fmt.Errorf("etcd has no leader")
		case m.Index+lag < leader.Index:
			return fmt.Errorf("it knows %d of %d entries of the log", m.Index, leader.Index)
		}
		return nil
	}}}
}
