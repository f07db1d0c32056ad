package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"clusterctl/cmd/internal/view"
	"clusterctl/phases"
	"clusterctl/phases/lock"
	"clusterctl/provision"
	"clusterctl/provision/event"
	"clusterctl/provision/inventory"

	"github.com/spf13/cobra"
)

func newDownCommand(o *clusterOptions) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "down SPEC...",
		Short: "Remove a cluster, its data and its state",
		Long: "Lists what will be removed and asks for the cluster's name. Hosts that the provider made are deleted;\n" +
			"from hosts that were there before, only what this program put there goes. In a cloud the cluster first\n" +
			"deletes its load balancers and volumes. Keys and certificates go last.\n" +
			"It goes on after an interruption, and what is left over is listed." + severalUsage,
		Example: "  clusterctl down cluster.yaml\n  clusterctl down cluster.yaml --yes",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.each(cmd.Context(), args, view.ClusterTable{}, func(ctx context.Context, s *session) error { return s.down(ctx, yes) })
		},
	}
	o.addFlags(cmd)
	o.addClustersFlag(cmd)
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

func (s *session) down(ctx context.Context, yes bool) error {
	changes, err := s.removals(ctx)
	if err != nil {
		return err
	}
	name := s.spec.Metadata.Name
	if s.spec.Spec.Provider.SSH != nil && !s.state.Exists() {
		_, err := fmt.Fprintf(s.streams.Err, "Cluster %s has no state in %s: hosts were not looked at. To remove a cluster whose state is lost, restore it first.\n", name, shorten(s.state.Path()))
		return err
	}
	if len(changes) == 0 && !s.state.Exists() {
		_, err := fmt.Fprintf(s.streams.Err, "Nothing is left of cluster %s.\n", name)
		return err
	}
	changes = append(changes, view.Change{Verb: view.Delete, Kind: "state", Name: shorten(s.state.Path()), Detail: "keys, certificates, kubeconfig"})
	if err := view.NewOutput(s.streams.Err, view.Text).Plan(view.Plan{Cluster: name, Provider: changes}, true); err != nil {
		return err
	}
	if err := confirmName(ctx, s.streams, "This cannot be taken back.", name, yes); err != nil {
		return err
	}
	return s.exclusively(ctx, "down", inventory.Inventory{}, func(ctx context.Context, r *activeRun) error {
		there, err := r.remaining(ctx)
		if err != nil {
			return err
		}
		return r.hold(ctx, there, lock.Options{Need: lock.Any}, r.down)
	})
}

// remaining are hosts that other machines may work on too. Those of the local provider belong to
// this state directory alone, whose lock is held.
func (s *session) remaining(ctx context.Context) (inventory.Inventory, error) {
	if s.spec.Spec.Provider.Local != nil {
		return inventory.Inventory{}, nil
	}
	return s.provider.Inventory(ctx, s.spec)
}

// down is the part of the command that changes things.
func (r *activeRun) down(ctx context.Context) error {
	to, stop := r.progress()
	defer stop()
	began := time.Now()
	to.Emit(event.Event{Time: began, Kind: event.PhaseStart, Phase: "hosts", Text: "removed with all data"})
	err := r.remove(ctx, to)
	to.Emit(event.Event{Time: time.Now(), Kind: event.PhaseEnd, Phase: "hosts", Took: time.Since(began), Err: err})
	if err != nil {
		return err
	}
	return r.state.Remove()
}

// removals lists what down takes away.
func (s *session) removals(ctx context.Context) ([]view.Change, error) {
	preview, err := s.provider.Preview(ctx, s.spec)
	if err != nil {
		return nil, err
	}
	var out []view.Change
	for _, c := range preview {
		if c.Verb == provision.Create || c.Verb == provision.Adopt || c.Kind == "base tree" {
			continue
		}
		detail := c.Detail
		if !s.spec.Spec.Provider.MakesHosts() {
			detail += "; the host stays, what runs on it and its cluster data go"
		}
		out = append(out, view.Change{Verb: view.Delete, Kind: c.Kind, Name: c.Name, Detail: detail})
	}
	return out, nil
}

// remove empties hosts that stay, and has the provider delete those that it made.
func (s *session) remove(ctx context.Context, to event.Sink) error {
	if !s.spec.Spec.Provider.MakesHosts() {
		if err := s.clean(ctx, to); err != nil {
			return err
		}
	}
	if s.spec.Spec.Provider.Cloud() != nil {
		if err := s.release(ctx, to); err != nil {
			return err
		}
	}
	return s.provider.Destroy(ctx, s.spec, to)
}

// release has the cluster delete what it made in the cloud. A cluster that does not answer cannot; the
// provider then looks for it, and refuses to go on where there is any.
func (s *session) release(ctx context.Context, to event.Sink) error {
	inv, err := s.provider.Inventory(ctx, s.spec)
	if err != nil {
		return err
	}
	p, err := s.prepare(inv)
	if err != nil || p.Fresh {
		return err
	}
	e, pool, err := s.env(p.Cluster)
	if err != nil {
		return err
	}
	defer pool.Close()
	api, err := e.API(ctx)
	if err != nil {
		return err
	}
	if _, err := api.Discovery().ServerVersionWithContext(ctx); err != nil {
		to.Emit(event.Event{Time: time.Now(), Kind: event.Warning, Phase: "hosts", Text: "the API does not answer: what Kubernetes made in the cloud is not deleted by it", Err: err})
		return nil
	}
	return phases.Release(ctx, api, to)
}

func (s *session) clean(ctx context.Context, to event.Sink) error {
	inv, err := s.provider.Inventory(ctx, s.spec)
	if err != nil {
		return err
	}
	p, err := s.prepare(inv)
	if err != nil {
		return err
	}
	if p.Fresh {
		return nil // keys are stored before the first host sees a part of them: nothing of ours is there
	}
	e, pool, err := s.env(p.Cluster)
	if err != nil {
		return err
	}
	defer pool.Close()
	left, err := phases.Remove(ctx, e, s.parallel, to)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return fmt.Errorf("left over, remove by hand and run down again:\n  %s", strings.Join(left, "\n  "))
	}
	return nil
}
