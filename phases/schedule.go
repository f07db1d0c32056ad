package phases

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"clusterctl/phases/drain"
	"clusterctl/phases/kube"
	"clusterctl/phases/plan"
	"clusterctl/provision/event"
)

// schedule does a step about where pods may go.
func (e *Env) schedule(ctx context.Context, phase string, s plan.Step, to event.Sink) error {
	if s.Verb == plan.Drain {
		policy := e.Cluster.Spec.Spec.UpgradePolicy
		err := drain.Node(ctx, e.api, s.Key.Host, drain.Options{Timeout: e.Cluster.Spec.DrainTimeout(), Stuck: drain.Policy(policy.StuckBudget), Phase: phase}, to)
		return remedied(err, policy.StuckBudget)
	}
	return kube.Uncordon(ctx, e.api, s.Key.Host)
}

// remedied says what can be done about pods that stay.
func remedied(err error, policy string) error {
	if stuck, ok := errors.AsType[*drain.StuckError](err); ok && policy == string(drain.Stop) {
		return fmt.Errorf("%w; give their budgets room and run the same command again: it goes on at node %s, which stays cordoned until then, "+
			"or set spec.upgradePolicy.stuckBudget to skip or delete", err, stuck.Node)
	}
	return err
}

// leave takes a host out of the rest of the run where the policy says so of what went wrong there.
func (e *Env) leave(name string, err error) bool {
	if _, stuck := errors.AsType[*drain.StuckError](err); !stuck || e.Cluster.Spec.Spec.UpgradePolicy.StuckBudget != string(drain.Skip) {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.left == nil {
		e.left = map[string]error{}
	}
	e.left[name] = err
	return true
}

func (e *Env) leftOut(name string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.left[name] != nil
}

// Left says which hosts the run went on without; nil when there are none.
func (e *Env) Left() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(e.left)) {
		errs = append(errs, fmt.Errorf("%s was left out: %w", name, e.left[name]))
	}
	return errors.Join(errs...)
}
