package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"clusterctl/phases"
	"clusterctl/phases/preflight"
	"clusterctl/provision"
	"clusterctl/provision/event"
	"clusterctl/provision/inventory"

	"github.com/spf13/cobra"
)

// removal is what may be taken away.
type removal struct {
	allow []string
	purge bool
}

func (r *removal) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&r.allow, "allow-remove", nil, "a control plane that may leave the cluster, by `name`; may be repeated")
	cmd.Flags().BoolVar(&r.purge, "purge", false, "delete etcd's data on hosts that leave instead of renaming it")
}

// RefusedError says that something is not done without another word of the user's.
type RefusedError struct{ Text string }

func (e *RefusedError) Error() string { return e.Text }

// ExitCode is the contract's code for what is refused.
func (e *RefusedError) ExitCode() int { return exitUsage }

// allowed is nil when every control plane that leaves was named: --yes is not enough for these.
func (r removal) allowed(c *phases.Cluster) error {
	var missing []string
	for _, l := range c.Leaving {
		if l.Host.Role == inventory.ControlPlane && !slices.Contains(r.allow, l.Host.Name) {
			missing = append(missing, l.Host.Name)
		}
		if by := takers(c, l); len(by) > 0 && c.Spec.Spec.Provider.Local != nil {
			return &RefusedError{fmt.Sprintf("%s: host %s takes the address of %s: take that one out of the spec alone, run up, and add the new one then", c.Spec.Path, strings.Join(by, ", "), l.Host.Name)}
		}
	}
	if len(missing) > 0 {
		return &RefusedError{fmt.Sprintf("control planes leave the cluster: %s; look at \"clusterctl plan %s\" and give --allow-remove %s",
			strings.Join(missing, ", "), c.Spec.Path, strings.Join(missing, " --allow-remove "))}
	}
	return nil
}

// takers are the hosts of the spec at the address of one that leaves.
func takers(c *phases.Cluster, l phases.Leaver) []string {
	var out []string
	for _, h := range c.Inventory.Hosts {
		if h.Address == l.Host.Address {
			out = append(out, h.Name)
		}
	}
	return out
}

// noteLeavers tells of hosts that leave and cannot be reached.
func (v *viewed) noteLeavers(seen phases.Observed) {
	for _, l := range v.prepared.Cluster.Leaving {
		why := "nobody knows how to reach it"
		if err := seen.Away[l.Host.Name]; err != nil {
			why = err.Error()
		}
		if l.Away {
			v.notes = append(v.notes, fmt.Sprintf("%s leaves and cannot be reached: it goes from etcd and from the nodes; what runs there is not stopped: %s", l.Host.Name, why))
		}
	}
	if err := seen.Errors["etcd"]; err != nil {
		v.notes = append(v.notes, fmt.Sprintf("etcd's member list is not known: %v", err))
	}
}

// judgeDrains names what would keep pods on nodes that go, before anything is changed.
func (s *session) judgeDrains(ctx context.Context, v *viewed, e *phases.Env) error {
	nodes := phases.Evacuated(v.planned)
	if s.discards(v) && !v.absent[s.replacing.host] {
		drained, err := phases.RunsPods(ctx, e, s.replacing.host)
		if err != nil {
			return err
		}
		if drained {
			nodes = append(nodes, s.replacing.host)
		}
	}
	found := phases.ForeseeStuck(ctx, e, nodes)
	v.findings = append(v.findings, preflight.Ignore(found, s.spec.Spec.Host.IgnorePreflight)...)
	return nil
}

// prune deletes machines of hosts that have left, and forgets them.
func (s *session) prune(ctx context.Context, v *viewed, to event.Sink) error {
	if p, ok := s.provider.(provision.Pruner); ok && slices.ContainsFunc(v.provider, func(c provision.Change) bool { return c.Verb == provision.Delete }) {
		if err := p.Prune(ctx, s.spec, to); err != nil {
			return err
		}
	}
	return v.prepared.Left(s.state)
}
