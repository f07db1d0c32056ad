package phases

import (
	"fmt"
	"strings"

	"clusterctl/components/resource"
	"clusterctl/phases/etcdapi"
	"clusterctl/provision/inventory"
)

// Refusal is a reason not to go on, and what to do instead.
type Refusal struct{ Host, Message, Remedy string }

// RefusedError says why nothing was changed.
type RefusedError struct{ Refusals []Refusal }

func (e *RefusedError) Error() string {
	var lines []string
	for _, r := range e.Refusals {
		lines = append(lines, fmt.Sprintf("%s: %s; %s", r.Host, r.Message, r.Remedy))
	}
	return strings.Join(lines, "\n")
}

// ExitCode is the contract's code for what is refused.
func (e *RefusedError) ExitCode() int { return 3 }

// Refused is nil when there is nothing to refuse.
func Refused(rs []Refusal) error {
	if len(rs) == 0 {
		return nil
	}
	return &RefusedError{rs}
}

// Refusals judges what would lose the cluster's data: a member that forgot what it agreed to, and
// removals after which the others are no quorum.
func Refusals(c *Cluster, facts resource.Facts) []Refusal {
	var out []Refusal
	for _, name := range LostData(c, facts) {
		out = append(out, Refusal{name, "its etcd member votes, and its data is gone: it must not start with nothing",
			"make it anew with: clusterctl replace " + c.Spec.Path + " " + name})
	}
	list := c.Members
	if c.Replacing != "" {
		out = append(out, replaceRefusals(c)...)
	}
	for _, first := range []bool{true, false} {
		for _, l := range c.leaving(first) {
			m, ok := list.Find(l.Host.Name, peerURL(l.Host))
			if l.Host.Role != inventory.ControlPlane || !ok {
				continue
			}
			if err := list.MayRemove(m.ID); err != nil {
				out = append(out, Refusal{l.Host.Name, err.Error(), "put it back in the spec, bring the other members back, and try again then"})
			}
			list = list.Without(m.ID)
		}
		if first { // in between, those that join
			for i, h := range c.joiners(nil) {
				list = append(list, etcdapi.Entry{ID: uint64(i), Name: h.Name, PeerURL: peerURL(h), Voter: true, Started: true, Alive: true})
			}
		}
	}
	return out
}
