package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"time"

	"clusterctl/cmd/internal/view"
	"clusterctl/components"
	"clusterctl/components/release"
	"clusterctl/phases"
	"clusterctl/phases/lock"
	"clusterctl/phases/preflight"
	"clusterctl/pki"
	"clusterctl/provision/event"
	"clusterctl/provision/inventory"

	"github.com/spf13/cobra"
)

func newUpCommand(o *clusterOptions) *cobra.Command {
	var yes bool
	var only string
	var remove removal
	cmd := &cobra.Command{
		Use:   "up SPEC...",
		Short: "Bring a cluster up, or make it what the spec says now",
		Long: "Shows what would be done, asks, and does it: hosts, keys and certificates, etcd, API servers,\n" +
			"controllers, nodes and add-ons, each phase after the one before is healthy. Hosts that the spec\n" +
			"does not name any more leave the cluster, one by one. It may be stopped\n" +
			"at any moment; the same command goes on from there. A cluster that is as it should be stays as it is." + severalUsage,
		Example: "  clusterctl up cluster.yaml\n  clusterctl up cluster.yaml --yes -o json\n  clusterctl up clusters/ --yes\n" +
			"  clusterctl up cluster.yaml --yes --allow-remove cp-1    # cp-1 is not in the spec any more",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if only != "" && !slices.ContainsFunc(phases.Up(), func(p phases.Phase) bool { return p.Name == only }) {
				return usagef("--phase %q: the phases are %s", only, phaseNames())
			}
			return o.each(cmd.Context(), args, view.ClusterTable{}, func(ctx context.Context, s *session) error {
				s.removal = remove
				return s.up(ctx, yes, only)
			})
		},
	}
	o.addFlags(cmd)
	o.addClustersFlag(cmd)
	remove.addFlags(cmd)
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	cmd.Flags().StringVar(&only, "phase", "", "do only this `phase`: "+phaseNames())
	return cmd
}

func phaseNames() string {
	text := ""
	for i, p := range phases.Up() {
		if i > 0 {
			text += ", "
		}
		text += p.Name
	}
	return text
}

// up is the whole command: look, ask, lock, hosts, look again where hosts were made, apply.
func (s *session) up(ctx context.Context, yes bool, only string) error {
	v, err := s.look(ctx)
	if err != nil {
		return err
	}
	return s.carryOut(ctx, v, yes, only)
}

// carryOut shows what was planned, asks, and does it.
func (s *session) carryOut(ctx context.Context, v viewed, yes bool, only string) (err error) {
	if only != "" && len(v.path.Stops) > 0 {
		return usagef("--phase %s: the cluster moves to another version, and its order keeps it safe; take all phases, or clusterctl upgrade --pause-after", only)
	}
	if s.pauseAfter != "" {
		if v.planned, err = s.paused(v); err != nil {
			return err
		}
	}
	if err := s.showPlan(v, yes); err != nil {
		return err
	}
	if err := v.report(s.clusterOptions); err != nil {
		return err
	}
	if err := s.removal.allowed(v.prepared.Cluster); err != nil {
		return err
	}
	if v.changes() {
		if err := confirm(ctx, s.streams, s.question(), yes); err != nil {
			return err
		}
	}
	var running inventory.Inventory
	if v.exists && v.changes() && s.replacing.host == "" {
		running = v.prepared.Cluster.Inventory // locked before anything is made or stored
	}
	return s.exclusively(ctx, cmp.Or(s.command, "up"), running, func(ctx context.Context, r *activeRun) error { return r.up(ctx, v, only) })
}

// up is the part of the command that changes things. What was looked at before the lock was taken
// may be old: only when there is nothing to change are the hosts not asked a second time.
func (r *activeRun) up(ctx context.Context, v viewed, only string) error {
	to, stop := r.progress()
	defer stop()
	if err := r.discard(ctx, &v, to); err != nil {
		return err
	}
	if v.changes() || !v.exists || v.prepared.Fresh {
		if err := r.ensureHosts(ctx, &v, to); err != nil {
			return err
		}
	} else if err := r.prepareAgain(&v, v.prepared.Cluster.Inventory); err != nil {
		return err
	}
	work := func(ctx context.Context) error {
		if err := v.prepared.Save(r.state); err != nil {
			return err
		}
		if err := r.apply(ctx, &v, only, to, r.record); err != nil {
			return err
		}
		stop()
		return errors.Join(append([]error{r.finish(v, only)}, v.left...)...)
	}
	if !v.exists || r.replacing.host != "" { // they answer now
		return r.hold(ctx, v.prepared.Cluster.Inventory, lock.Options{}, work)
	}
	return work(ctx)
}

// ensureHosts makes the hosts that the provider lacks.
func (s *session) ensureHosts(ctx context.Context, v *viewed, to event.Sink) error {
	if err := s.preinstall(v.prepared.Cluster); err != nil {
		return err
	}
	began := time.Now()
	to.Emit(event.Event{Time: began, Kind: event.PhaseStart, Phase: "hosts", Text: "machines that answer over SSH"})
	inv, err := s.provider.Ensure(ctx, s.spec, to)
	to.Emit(event.Event{Time: time.Now(), Kind: event.PhaseEnd, Phase: "hosts", Took: time.Since(began), Err: err})
	if err != nil {
		return fmt.Errorf("phase hosts: %w", err)
	}
	return s.prepareAgain(v, inv)
}

// prepareAgain reads the state once more under the lock. Keys that were made for the plan of a
// new cluster are kept: nobody else has founded it meanwhile.
func (s *session) prepareAgain(v *viewed, inv inventory.Inventory) error {
	_, founded, err := s.state.Secrets()
	if err != nil {
		return err
	}
	if v.prepared.Fresh && !founded && reflect.DeepEqual(inv, v.prepared.Cluster.Inventory) {
		return nil
	}
	before := v.prepared.Cluster
	if v.prepared, err = s.prepare(inv); err == nil {
		v.prepared.Cluster.Release.Former, v.prepared.Cluster.FormerBinaries = before.Release.Former, before.FormerBinaries
	}
	return err
}

// apply observes under the lock and carries the plan out.
func (s *session) apply(ctx context.Context, v *viewed, only string, to event.Sink, record phases.Record) error {
	e, pool, err := s.env(v.prepared.Cluster)
	if err != nil {
		return err
	}
	defer pool.Close()
	if v.changes() || !v.exists {
		if err := s.check(ctx, v, e, to); err != nil {
			return err
		}
	}
	e.Skip = v.skip
	if err := phases.Remember(ctx, e, v.facts, s.parallel); err != nil {
		return err
	}
	if len(v.path.Stops) > 0 && phases.Steps(v.planned) > 0 {
		if _, err := phases.BackUp(ctx, e, s.state, to); err != nil {
			return err
		}
	}
	if s.pauseAfter != "" {
		if v.planned, err = s.paused(*v); err != nil {
			return err
		}
	}
	if only != "" {
		v.planned = slices.DeleteFunc(v.planned, func(p phases.Planned) bool { return p.Phase.Name != only })
	}
	if err := phases.Apply(ctx, e, v.planned, s.parallel, to, record); err != nil || only != "" {
		return err
	}
	return s.prune(ctx, v, to)
}

// check asks all hosts under the lock, judges them and plans again.
func (s *session) check(ctx context.Context, v *viewed, e *phases.Env, to event.Sink) error {
	began := time.Now()
	to.Emit(event.Event{Time: began, Kind: event.PhaseStart, Phase: "preflight", Text: "every check on every host"})
	seen, err := phases.Observe(ctx, e, phases.Up(), nil, s.parallel)
	if err == nil {
		v.absent = nil
		err = s.judge(v, seen)
	}
	if err == nil {
		err = errors.Join(phases.Refused(v.refusals), preflight.Verdict(v.findings), s.removal.allowed(v.prepared.Cluster))
	}
	to.Emit(event.Event{Time: time.Now(), Kind: event.PhaseEnd, Phase: "preflight", Took: time.Since(began), Err: err})
	return err
}

// finish writes the administrator's kubeconfig and says what to do next; after a single phase it
// says no more than that.
func (s *session) finish(v viewed, only string) error {
	c := v.prepared.Cluster
	if only != "" {
		return view.NewOutput(s.streams.Out, s.format).PhaseDone(view.PhaseDone{Cluster: c.Spec.Metadata.Name, Phase: only, Spec: s.spec.Path})
	}
	if s.pauseAfter != "" {
		return view.NewOutput(s.streams.Out, s.format).Paused(view.Paused{Cluster: c.Spec.Metadata.Name, After: s.pauseAfter, Spec: s.spec.Path})
	}
	leaf, ok := c.Secrets.Leaf("", pki.Admin)
	if !ok {
		return fmt.Errorf("the administrator's certificate was not issued")
	}
	text := pki.Kubeconfig(c.Spec.Metadata.Name, apiServers(c), c.Secrets.CA(pki.ClusterCA).CertPEM, leaf)
	path, err := s.state.WriteKubeconfig("admin", text)
	if err != nil {
		return err
	}
	return view.NewOutput(s.streams.Out, s.format).Done(view.Done{
		Cluster: c.Spec.Metadata.Name, Version: c.Spec.Spec.Kubernetes.Version, Hosts: len(c.Inventory.Hosts), Kubeconfig: shorten(path),
		Spec: s.spec.Path, Former: former(c.Release),
	})
}

// former is the version of Kubernetes that a control plane emulates; empty: none.
func former(r release.Release) string {
	if r.Former == nil {
		return ""
	}
	return r.Former.Kubernetes
}

// shorten gives a path as a person in this directory would write it.
func shorten(path string) string {
	if wd, err := filepath.Abs("."); err == nil {
		if rel, err := filepath.Rel(wd, path); err == nil && len(rel) < len(path) {
			return rel
		}
	}
	return path
}

// apiServers are where people find the API: the spec's endpoint, else each control plane.
func apiServers(c *phases.Cluster) []pki.APIEndpoint {
	if name, port, ok := c.Spec.ControlPlaneEndpoint(); ok {
		return []pki.APIEndpoint{{URL: components.URL("https", name, port)}}
	}
	var out []pki.APIEndpoint
	for _, h := range c.Inventory.ControlPlanes() {
		out = append(out, pki.APIEndpoint{Host: h.Name, URL: components.URL("https", h.Address.String(), components.APIServerPort)})
	}
	return out
}
