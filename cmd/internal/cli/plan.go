package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"clusterctl/cmd/internal/view"
	"clusterctl/components/resource"
	"clusterctl/phases"
	"clusterctl/phases/plan"
	"clusterctl/phases/preflight"
	"clusterctl/phases/upgrade"
	"clusterctl/provision"
	"clusterctl/provision/inventory"

	"github.com/spf13/cobra"
)

func newPlanCommand(o *clusterOptions) *cobra.Command {
	var detailed, full bool
	cmd := &cobra.Command{
		Use:   "plan SPEC...",
		Short: "Show what up would do, and change nothing",
		Long:  "Asks the provider and every host that exists, and shows what up would do per phase and host.\nNothing is changed anywhere, and nothing is locked." + severalUsage,
		Example: "  clusterctl plan cluster.yaml\n" +
			"  clusterctl plan cluster.yaml --detailed-exitcode -o json\n" +
			"  clusterctl plan clusters/ -o markdown >comment.md",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.each(cmd.Context(), args, view.PlanTable(), func(ctx context.Context, s *session) error { return s.plan(ctx, full, detailed) })
		},
	}
	o.addFlags(cmd, view.Markdown)
	o.addClustersFlag(cmd)
	cmd.Flags().BoolVar(&detailed, "detailed-exitcode", false, "exit with 2 when there are changes")
	cmd.Flags().BoolVar(&full, "full", false, "list the steps of every host, also where several hosts have the same")
	return cmd
}

// plan shows what up would do.
func (s *session) plan(ctx context.Context, full, detailed bool) error {
	v, err := s.look(ctx)
	if err != nil {
		return err
	}
	if err := view.NewOutput(s.streams.Out, s.format).Plan(v.shown(), full); err != nil {
		return err
	}
	if err := v.report(s.clusterOptions); err != nil {
		return err
	}
	if detailed && v.changes() {
		return ErrChanges
	}
	return nil
}

// viewed is a cluster as a command sees it before it changes anything.
type viewed struct {
	prepared phases.Prepared
	provider []provision.Change
	planned  []phases.Planned
	facts    resource.Facts
	findings []preflight.Finding
	notes    []string
	absent   map[string]bool // hosts that do not run yet
	exists   bool            // all hosts run: the plan is of what they said
	skip     map[string]bool // workers that are left out
	left     []error         // why
	path     upgrade.Path    // from what runs to what the spec says
	refusals []phases.Refusal
}

// look asks the provider and the hosts, and compares. It changes nothing.
func (s *session) look(ctx context.Context) (viewed, error) {
	changes, err := s.provider.Preview(ctx, s.spec)
	if err != nil {
		return viewed{}, err
	}
	inv, err := s.provider.Inventory(ctx, s.spec)
	if err != nil {
		return viewed{}, err
	}
	v := viewed{provider: changes, absent: absent(changes)}
	v.exists = len(v.absent) == 0
	if v.prepared, err = s.prepare(inv); err != nil {
		return viewed{}, err
	}
	if !v.exists {
		v.notes = append(v.notes, "hosts that do not run yet are taken for empty machines: "+strings.Join(slices.Sorted(maps.Keys(v.absent)), ", "))
	}
	err = s.ask(ctx, &v)
	return v, err
}

// ask observes the hosts, checks them and plans.
func (s *session) ask(ctx context.Context, v *viewed) error {
	e, pool, err := s.env(v.prepared.Cluster)
	if err != nil {
		return err
	}
	s.looked = &openHosts{v.prepared.Cluster.Known(), pool}
	e.Skip = v.absent
	seen, err := phases.Observe(ctx, e, phases.Up(), v.absent, s.parallel)
	if err != nil {
		return err
	}
	if err := s.judge(v, seen); err != nil {
		return err
	}
	if err := s.judgeDrains(ctx, v, e); err != nil {
		return err
	}
	return s.judgeUpgrade(ctx, v, e)
}

// judge turns what was seen into findings and a plan.
func (s *session) judge(v *viewed, seen phases.Observed) (err error) {
	c := v.prepared.Cluster
	v.facts = seen.Facts
	if err := seen.Errors[""]; err != nil {
		v.notes = []string{fmt.Sprintf("API objects and nodes are shown as if they were not there: %v", err)}
	}
	uid := c.Secrets.ClusterUID()
	if v.prepared.Fresh {
		uid = ""
	}
	v.findings = preflight.Run(preflight.Input{
		Spec: s.spec, Inventory: running(running(c.Inventory, v.absent), c.Taken()), Reports: seen.Reports, Errors: seen.Errors,
		ClusterUID: uid, EtcdClusterID: c.Identity.EtcdClusterID, Need: phases.InstallSize(c), Arch: "amd64",
	})
	if v.path, err = upgrade.Find(s.request(c)); err != nil {
		return err
	}
	if s.instead != "" {
		v.notes = append(v.notes, fmt.Sprintf("the spec says %s: write %s there when this is done, or the next up will refuse to go back", s.instead, c.Spec.Spec.Kubernetes.Version))
	}
	v.skip, v.left = map[string]bool{}, nil
	if !v.prepared.Fresh {
		v.leaveOut(seen.Errors)
	}
	v.refusals = append(s.outdated(v), phases.Refusals(c, seen.Facts)...)
	v.noteLeavers(seen)
	for _, h := range c.Inventory.Hosts {
		if s.untouched != nil && s.untouched(h) {
			v.skip[h.Name] = true
		}
	}
	v.planned, err = phases.Plan(c, phases.Up(), seen.Facts, v.skip)
	return err
}

// leaveOut turns workers that cannot be reached into warnings: one dead worker must not keep the
// others from what they need. A control plane that is away stops the run.
func (v *viewed) leaveOut(errs map[string]error) {
	for i, f := range v.findings {
		h, _ := v.prepared.Cluster.Inventory.Get(f.Host)
		if f.Check == "reachable" && h.Role == inventory.Worker && errs[h.Name] != nil {
			v.findings[i].Severity = preflight.SeverityWarning
			v.skip[h.Name] = true
			v.left = append(v.left, fmt.Errorf("%s was left out: %w", h.Name, errs[h.Name]))
		}
	}
}

// absent are the hosts that the provider has to make, start or take over.
func absent(changes []provision.Change) map[string]bool {
	out := map[string]bool{}
	for _, c := range changes {
		if c.Kind == "host" && slices.Contains([]provision.Verb{provision.Create, provision.Start, provision.Adopt}, c.Verb) {
			out[c.Name] = true
		}
	}
	return out
}

// running is the inventory of the hosts that can be asked.
func running(inv inventory.Inventory, absent map[string]bool) inventory.Inventory {
	out := inventory.Inventory{Hosts: slices.Clone(inv.Hosts)}
	out.Hosts = slices.DeleteFunc(out.Hosts, func(h inventory.Host) bool { return absent[h.Name] })
	return out
}

// changes tells whether up would change anything.
func (v viewed) changes() bool {
	if phases.Steps(v.planned) > 0 {
		return true
	}
	for _, c := range v.provider {
		if c.Verb != provision.Keep {
			return true
		}
	}
	return false
}

// report shows findings on standard error and returns the verdict.
func (v viewed) report(o *clusterOptions) error {
	if len(v.findings) == 0 {
		return phases.Refused(v.refusals)
	}
	shown := make([]view.Finding, len(v.findings))
	for i, f := range v.findings {
		shown[i] = view.Finding{Host: f.Host, Check: f.Check, Severity: string(f.Severity), Message: f.Message, Remedy: f.Remedy}
	}
	if o.format == view.JSON {
		view.FindingLines(o.streams.Err, shown)
	} else if err := view.NewOutput(o.streams.Err, view.Text).Findings(shown); err != nil {
		return err
	}
	return errors.Join(phases.Refused(v.refusals), preflight.Verdict(v.findings))
}

// shown is the plan as it is printed.
func (v viewed) shown() view.Plan {
	out := view.Plan{Cluster: v.prepared.Cluster.Spec.Metadata.Name, Notes: v.notes}
	for _, c := range v.provider {
		if c.Verb != provision.Keep {
			out.Provider = append(out.Provider, view.Change{Verb: view.Verb(c.Verb), Kind: c.Kind, Name: c.Name, Detail: c.Detail})
		}
	}
	for _, p := range v.planned {
		phase := view.PhasePlan{Name: p.Phase.Name, Doc: p.Phase.Doc}
		steps := map[string][]view.Step{}
		for _, w := range p.Waves {
			for _, b := range w.Batches {
				for _, name := range b.Hosts {
					steps[name] = append(steps[name], shownSteps(b.Steps[name])...)
				}
			}
		}
		for _, name := range append([]string{""}, hostOrder(v.prepared.Cluster.Known())...) {
			if len(steps[name]) > 0 {
				phase.Hosts = append(phase.Hosts, view.HostPlan{Host: name, Steps: steps[name]})
			}
		}
		if len(phase.Hosts) > 0 {
			out.Phases = append(out.Phases, phase)
		}
	}
	return out
}

func shownSteps(steps []plan.Step) []view.Step {
	out := make([]view.Step, len(steps))
	for i, s := range steps {
		out[i] = view.Step{Verb: view.Verb(s.Verb), Kind: string(s.Key.Kind), Title: s.Want.Title(), Why: s.Why}
		if s.Key.Kind == resource.KindSchedule {
			out[i].Kind, out[i].Title = string(resource.KindNode), s.Key.Host // drain node worker-1
		}
	}
	return out
}

func hostOrder(inv inventory.Inventory) []string {
	var out []string
	for _, h := range inv.Hosts {
		out = append(out, h.Name)
	}
	return out
}
