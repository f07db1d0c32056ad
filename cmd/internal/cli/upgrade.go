package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"clusterctl/cmd/internal/view"
	"clusterctl/phases"
	"clusterctl/phases/drain"
	"clusterctl/provision/inventory"
	"clusterctl/provision/spec"

	"github.com/spf13/cobra"
)

// upgradeFlags are what an upgrade may be told beside the spec.
type upgradeFlags struct {
	to          string
	planeOnly   bool
	pools       []string
	unavailable string
	timeout     time.Duration
	stuck       string
	chain       bool
	prerelease  bool
	older       bool
	pauseAfter  string
}

func newUpgradeCommand(o *clusterOptions) *cobra.Command {
	f := &upgradeFlags{}
	var yes bool
	cmd := &cobra.Command{
		Use:   "upgrade SPEC",
		Short: "Move a running cluster to another version",
		Long: "Moves a cluster to the version in its spec, or to another one, while it serves: etcd member by\n" +
			"member, API servers one by one, controllers, then nodes. It is what up does when the version in\n" +
			"the spec has changed, with controls of its own. It may be stopped at any moment; the same command\n" +
			"goes on from there. What does not come up with the new version is put back on its host.",
		Example: "  clusterctl upgrade plan cluster.yaml\n" +
			"  clusterctl upgrade cluster.yaml --yes\n" +
			"  clusterctl upgrade cluster.yaml --to v1.37.2 --control-plane-only\n" +
			"  clusterctl upgrade cluster.yaml --workers default --max-unavailable 25%\n" +
			"  clusterctl upgrade cluster.yaml --pause-after worker-1 --drain-timeout 10m --stuck-budget skip",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return o.upgrade(cmd.Context(), args[0], f, yes) },
	}
	o.addFlags(cmd)
	f.add(cmd)
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	cmd.Flags().StringVar(&f.pauseAfter, "pause-after", "", "end well behind this host or `phase`: the same command without it goes on")
	cmd.AddCommand(newUpgradePlanCommand(o, f))
	return cmd
}

func newUpgradePlanCommand(o *clusterOptions, f *upgradeFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plan SPEC",
		Short: "Show the way, the order, what users may notice, and what stands in the way",
		Long: "Asks every host, etcd, the API and the new programs. The exit code is 3 where the way is not open\n" +
			"or the new programs do not take the spec's arguments, 1 where something else stands in the way.",
		Example: "  clusterctl upgrade plan cluster.yaml\n  clusterctl upgrade plan cluster.yaml --to v1.37.2 -o json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := o.openUpgrade(args[0], f, f.to)
			if err != nil {
				return err
			}
			v, err := s.look(cmd.Context())
			if err != nil {
				return err
			}
			if err := view.NewOutput(o.streams.Out, o.format).Upgrade(v.shownUpgrade()); err != nil {
				return err
			}
			return v.report(o)
		},
	}
	o.addFlags(cmd)
	f.add(cmd)
	return cmd
}

func (f *upgradeFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.to, "to", "", "go to this `version` instead of the spec's")
	flags.BoolVar(&f.planeOnly, "control-plane-only", false, "leave all workers as they are")
	flags.StringSliceVar(&f.pools, "workers", nil, "of the workers only those of this `pool`; may be repeated. Control planes always come first")
	flags.StringVar(&f.unavailable, "max-unavailable", "", "workers away at the same time, a `number` or percentage (default: the spec's)")
	flags.DurationVar(&f.timeout, "drain-timeout", 0, "how long the pods of a node may take to leave it (default: the spec's)")
	flags.StringVar(&f.stuck, "stuck-budget", "", "what is done when they do not: stop, skip or delete (default: the spec's)")
	flags.BoolVar(&f.chain, "chain", false, "go over several minor versions, one after the other")
	flags.BoolVar(&f.prerelease, "allow-prerelease", false, "an alpha, beta or release candidate is meant")
	flags.BoolVar(&f.older, "allow-older-patch", false, "an older patch version is meant")
}

// upgrade goes to the wanted version, over the versions between when it may.
func (o *clusterOptions) upgrade(ctx context.Context, path string, f *upgradeFlags, yes bool) error {
	s, err := o.openUpgrade(path, f, f.to)
	if err != nil {
		return err
	}
	if !f.chain {
		return s.up(ctx, yes, "")
	}
	v, err := s.look(ctx)
	if err != nil {
		return err
	}
	stops := v.path.Stops
	if len(stops) == 0 {
		return s.up(ctx, yes, "")
	}
	for i, stop := range stops {
		if s, err = o.openUpgrade(path, f, stop); err != nil {
			return err
		}
		if err := s.up(ctx, yes, ""); err != nil {
			return fmt.Errorf("step %d of %d, to %s: %w", i+1, len(stops), stop, err)
		}
	}
	return nil
}

// openUpgrade opens a spec with what the flags say instead of it; version empty: the spec's.
func (o *clusterOptions) openUpgrade(path string, f *upgradeFlags, version string) (*session, error) {
	c, err := spec.Load(path)
	if err != nil {
		return nil, err
	}
	instead := c.Spec.Kubernetes.Version
	if version != "" {
		c.Spec.Kubernetes.Version = "v" + strings.TrimPrefix(version, "v")
	}
	if f.unavailable != "" {
		c.Spec.UpgradePolicy.MaxUnavailable = f.unavailable
	}
	if f.timeout != 0 {
		c.Spec.UpgradePolicy.DrainTimeout = f.timeout.String()
	}
	if f.stuck != "" {
		c.Spec.UpgradePolicy.StuckBudget = f.stuck
	}
	if err := f.check(c); err != nil {
		return nil, err
	}
	s, err := o.session(c)
	if err != nil {
		return nil, err
	}
	s.policy.Prerelease, s.policy.Older, s.policy.Chain = f.prerelease, f.older, f.chain
	if instead != c.Spec.Kubernetes.Version {
		s.instead = instead
	}
	s.command, s.pauseAfter, s.untouched = "upgrade", f.pauseAfter, f.untouched
	return s, nil
}

// check judges the flags that name something of the spec.
func (f *upgradeFlags) check(c *spec.Cluster) error {
	if p := c.Spec.UpgradePolicy; !slices.Contains([]string{string(drain.Stop), string(drain.Skip), string(drain.Delete)}, p.StuckBudget) {
		return usagef("--stuck-budget %q: stop, skip or delete", f.stuck)
	}
	if err := c.CheckUpgradePolicy(); err != nil {
		return &UsageError{err}
	}
	var pools []string
	for _, p := range c.Spec.Workers {
		pools = append(pools, p.Name)
	}
	for _, p := range f.pools {
		if !slices.Contains(pools, p) {
			return usagef("--workers %s: there is no such pool; the spec has: %s", p, strings.Join(pools, ", "))
		}
	}
	if f.chain && c.Spec.UpgradePolicy.Emulate {
		return usagef("--chain goes on over minor versions, and spec.upgradePolicy.emulate: true stays at each until it is raised: say one of them")
	}
	if f.planeOnly && len(f.pools) > 0 {
		return usagef("--control-plane-only and --workers: say one of them")
	}
	return nil
}

// untouched are the workers that this upgrade leaves as they are.
func (f *upgradeFlags) untouched(h inventory.Host) bool {
	return h.Role == inventory.Worker && (f.planeOnly || len(f.pools) > 0 && !slices.Contains(f.pools, h.Pool))
}

// paused is the plan up to where the run ends.
func (s *session) paused(v viewed) ([]phases.Planned, error) {
	cut, ok := phases.Until(v.prepared.Cluster, v.planned, s.pauseAfter)
	if !ok {
		return nil, usagef("--pause-after %s: neither a host nor a phase; the phases are %s", s.pauseAfter, phaseNames())
	}
	return cut, nil
}

// shownUpgrade is the way as it is printed.
func (v viewed) shownUpgrade() view.Upgrade {
	c := v.prepared.Cluster
	out := view.Upgrade{Cluster: c.Spec.Metadata.Name, Versions: v.path.Stops, Former: former(c.Release)}
	for _, change := range v.path.Changes {
		out.Components = append(out.Components, view.ComponentChange{Component: change.Component, Running: change.From, Wanted: change.To})
	}
	for _, s := range phases.Stages(v.planned) {
		out.Stages = append(out.Stages, view.Stage{Phase: s.Phase, Units: s.Units, Batches: s.Batches, Drained: s.Drains})
	}
	out.Disruption = disruption(c, out.Stages)
	return out
}

// disruption says what users of the cluster may notice.
func disruption(c *phases.Cluster, stages []view.Stage) []string {
	var out []string
	one := len(c.Inventory.ControlPlanes()) == 1
	for _, s := range stages {
		hosts := slices.Concat(s.Batches...)
		switch {
		case slices.Contains(s.Units, "kube-controller-manager"):
		case s.Phase == "etcd" && one, s.Phase == "apiserver" && one:
			out = append(out, fmt.Sprintf("%s: the API does not answer while its only %s restarts", s.Phase, strings.Join(s.Units, ", ")))
		case s.Phase == "etcd":
			out = append(out, "etcd: at most one member is away; the lead moves before its holder restarts")
		case s.Phase == "apiserver":
			out = append(out, "API: at most one server is away, and balancers know it before; watches and long requests to it begin anew")
		case s.Drained:
			out = append(out, fmt.Sprintf("pods of %s are moved, of at most %d of them at a time, as their disruption budgets allow", strings.Join(hosts, ", "), len(s.Batches[0])))
		case slices.Contains(s.Units, "kubelet"):
			out = append(out, fmt.Sprintf("pods of %s stay where they are and go on", strings.Join(hosts, ", ")))
		}
	}
	return out
}
