package cli

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"

	"clusterctl/cmd/internal/view"
	"clusterctl/phases"
	"clusterctl/phases/preflight"
	"clusterctl/provision"
	"clusterctl/provision/event"
	"clusterctl/provision/inventory"

	"github.com/spf13/cobra"
)

func newReplaceCommand(o *clusterOptions) *cobra.Command {
	var yes bool
	var want replacement
	cmd := &cobra.Command{
		Use:   "replace SPEC HOST",
		Short: "Make a dead or re-installed host a member of its cluster again",
		Long: "For a host of the spec that is dead, was re-installed, or lost its disk. Shows how many etcd members\n" +
			"answer and how many are needed, removes the dead member's entry, renames what is left of its data,\n" +
			"and has it join as a new member; then does what up does. Where the provider makes the hosts, one that\n" +
			"does not answer is deleted and made anew. With --force one that is alive is, too: its pods are moved\n" +
			"away first; a changed image or machine type in the spec comes to a host like that.\n" +
			"A host of the spec at another address: change the spec first. It is refused where the quorum would be\n" +
			"lost, and where the member is alive. It may be stopped at any moment; the same command goes on.",
		Example: "  clusterctl replace cluster.yaml cp-2\n  clusterctl replace cluster.yaml worker-1 --yes",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := o.open(args[0])
			if err != nil {
				return err
			}
			want.host = args[1]
			s.replacing = want
			return s.replace(cmd.Context(), yes)
		},
	}
	o.addFlags(cmd)
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	cmd.Flags().BoolVar(&want.force, "force", false, "also a host that is alive")
	return cmd
}

// replacement is the host that is made anew.
type replacement struct {
	host  string
	force bool
}

// mark tells a cluster which of its etcd members is made anew.
func (r replacement) mark(c *phases.Cluster) {
	if h, ok := c.Inventory.Get(r.host); ok && h.Role == inventory.ControlPlane {
		c.Replacing, c.Forced = r.host, r.force
	}
}

func (s *session) replace(ctx context.Context, yes bool) error {
	if !s.state.Exists() {
		return s.noState()
	}
	v, err := s.look(ctx)
	if err != nil {
		return err
	}
	c, name := v.prepared.Cluster, s.replacing.host
	h, ok := c.Inventory.Get(name)
	if !ok {
		return usagef("%s names no host %q; it has %s", s.spec.Path, name, strings.Join(c.Inventory.Names(), ", "))
	}
	if err := s.giveUp(ctx, &v, name); err != nil {
		return err
	}
	c = v.prepared.Cluster
	if h.Role == inventory.ControlPlane {
		if err := c.Members.Twice(func(host string) []string { return lookUp(ctx, host) }); err != nil {
			return err
		}
		v.notes = append(v.notes, phases.ReplaceArithmetic(c, name))
	}
	if s.alive(v, name) {
		return &RefusedError{name + " is alive and as it should be: nothing is replaced; --force makes it anew all the same"}
	}
	s.command = "replace"
	return s.carryOut(ctx, v, yes, "")
}

// alive tells whether a host answers and has nothing to be done: an interrupted replacement has.
func (s *session) alive(v viewed, name string) bool {
	if s.replacing.force || v.absent[name] || v.skip[name] || v.prepared.Cluster.Replacing == name {
		return false
	}
	return !slices.ContainsFunc(v.planned, func(p phases.Planned) bool {
		return slices.ContainsFunc(p.Waves, func(w phases.PlannedWave) bool {
			for _, b := range w.Batches {
				for _, s := range slices.Concat(b.Steps[name], b.Steps[""]) {
					if s.Key.Host == name || s.Key.Name == name {
						return true
					}
				}
			}
			return false
		})
	})
}

// giveUp takes a host that does not answer for one that is to be made: its provider can make another.
func (s *session) giveUp(ctx context.Context, v *viewed, name string) error {
	_, can := s.provider.(provision.Discarder)
	dead := slices.ContainsFunc(v.findings, func(f preflight.Finding) bool { return f.Check == "reachable" && f.Host == name })
	if !can || v.absent[name] || !dead && !s.replacing.force {
		return nil
	}
	for i, c := range v.provider {
		if c.Kind == "host" && c.Name == name {
			v.provider[i].Verb = provision.Replace
		}
	}
	if !dead {
		return nil // it is asked until then
	}
	v.absent[name], v.exists = true, false
	s.close() // it was opened for a host that is gone
	return s.ask(ctx, v)
}

// outdated refuses hosts whose machine is not the one that the spec asks for now: each has to be made
// anew, one after the other. While one is, the others stay as they are, and the plan says so.
func (s *session) outdated(v *viewed) []phases.Refusal {
	var out []phases.Refusal
	for i, c := range v.provider {
		switch {
		case c.Kind != "host" || c.Verb != provision.Replace || c.Name == s.replacing.host:
		case s.replacing.host != "":
			v.provider[i].Verb = provision.Keep
			v.notes = append(v.notes, fmt.Sprintf("%s stays as it is until it is replaced too: the spec changes its %s", c.Name, c.Detail))
		default:
			out = append(out, phases.Refusal{Host: c.Name, Message: "the spec changes what its machine was made with: " + c.Detail,
				Remedy: fmt.Sprintf("put it back, or make the host anew, one after the other: clusterctl replace %s %s --force", s.spec.Path, c.Name)})
		}
	}
	return out
}

// lookUp gives the addresses of a name; none where it is not known.
func lookUp(ctx context.Context, host string) []string {
	addrs, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		return nil
	}
	return addrs
}

// discards tells whether a replacement deletes the host that the provider has.
func (s *session) discards(v *viewed) bool {
	_, ok := s.provider.(provision.Discarder)
	return ok && s.replacing.host != "" && (v.absent[s.replacing.host] || s.replacing.force)
}

// discard deletes what the provider has of a host, so that it is made anew. Pods of one that is alive
// are moved before.
func (s *session) discard(ctx context.Context, v *viewed, to event.Sink) error {
	if !s.discards(v) {
		return nil
	}
	name := s.replacing.host
	if !v.absent[name] {
		if err := s.evacuate(ctx, v, name, to); err != nil {
			return err
		}
	}
	v.exists = false // it has to be made again
	return s.provider.(provision.Discarder).Discard(ctx, s.spec, name, to)
}

// evacuate drains a node whose host is deleted in this run.
func (s *session) evacuate(ctx context.Context, v *viewed, name string, to event.Sink) error {
	e, pool, err := s.env(v.prepared.Cluster)
	if err != nil {
		return err
	}
	defer pool.Close()
	e.Skip = v.skip
	drained, err := phases.RunsPods(ctx, e, name)
	if err != nil || !drained {
		return err
	}
	return e.Evacuate(ctx, name, "hosts", to)
}

// showPlan prints what will be done, before it is asked for.
func (s *session) showPlan(v viewed, yes bool) error {
	if !v.changes() || yes && s.format == view.JSON {
		return nil
	}
	return view.NewOutput(s.streams.Err, view.Text).Plan(v.shown(), false)
}

// question asks whether to go on.
func (s *session) question() string {
	if s.replacing.host != "" {
		return fmt.Sprintf("Replace %s in cluster %q?", s.replacing.host, s.spec.Metadata.Name)
	}
	return fmt.Sprintf("Make these changes to cluster %q?", s.spec.Metadata.Name)
}
