package phases

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"clusterctl/components/resource"
	"clusterctl/phases/drain"
	"clusterctl/phases/plan"
	"clusterctl/phases/preflight"
	"clusterctl/provision/event"
	"clusterctl/provision/inventory"
)

// Evacuated are the nodes that a plan drains for good.
func Evacuated(planned []Planned) []string {
	var out []string
	for _, p := range planned {
		for _, w := range p.Waves {
			for _, b := range w.Batches {
				for _, s := range b.Steps[""] {
					if r, ok := s.Want.(resource.NoPods); ok {
						out = append(out, r.Node)
					}
				}
			}
		}
	}
	return out
}

// ForeseeStuck names the pods that would keep the nodes from being drained for good, before anything
// is changed. They stop the run, where the spec does not say that such pods are deleted.
func ForeseeStuck(ctx context.Context, e *Env, nodes []string) []preflight.Finding {
	if len(nodes) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, readinessTimeout)
	defer cancel()
	return foreseeStuck(ctx, e.api, e.evacuationPolicy(), nodes)
}

func foreseeStuck(ctx context.Context, api kubernetes.Interface, policy drain.Policy, nodes []string) []preflight.Finding {
	var out []preflight.Finding
	budgets, err := drain.Budgets(ctx, api)
	for _, node := range nodes {
		var pods []drain.Pod
		if err == nil {
			pods, err = drain.Foresee(ctx, api, node, budgets)
		}
		for _, p := range pods {
			f := preflight.Finding{Host: node, Check: "budgets", Severity: preflight.SeverityError,
				Message: fmt.Sprintf("pod %s/%s would never leave: %s", p.Namespace, p.Name, p.Why),
				Remedy:  "give the budget room or the pod another owner, move or delete the pod, or set spec.upgradePolicy.stuckBudget: delete"}
			if policy == drain.Delete {
				f.Severity, f.Remedy = preflight.SeverityWarning, "spec.upgradePolicy.stuckBudget has it deleted when the drain's time is over"
			}
			out = append(out, f)
		}
	}
	if err != nil {
		out = append(out, preflight.Finding{Check: "api", Severity: preflight.SeverityWarning,
			Message: fmt.Sprintf("nobody knows whether pods can leave %v: %v", nodes, err)})
	}
	return out
}

// RunsPods tells whether a node works and its pods have another to go to: then it is drained before it
// is taken away.
func RunsPods(ctx context.Context, e *Env, name string) (bool, error) {
	if !slices.ContainsFunc(e.Cluster.Inventory.Workers(), func(h inventory.Host) bool { return h.Name != name && !e.Skip[h.Name] }) {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, readinessTimeout)
	defer cancel()
	n, err := e.api.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("ask for node %s: %w", name, err)
	}
	return nodeReady(n) == nil, nil
}

// Evacuate drains a node for good.
func (e *Env) Evacuate(ctx context.Context, node, phase string, to event.Sink) error {
	policy := e.evacuationPolicy()
	err := drain.Node(ctx, e.api, node, drain.Options{Timeout: e.Cluster.Spec.DrainTimeout(), Stuck: policy, Phase: phase}, to)
	if err != nil {
		return fmt.Errorf("drain %s: %w", node, remedied(err, string(policy)))
	}
	return nil
}

// evacuationPolicy is what becomes of pods that stay on a node that goes. To leave the node out would
// keep it in the cluster, so that skipping is stopping here.
func (e *Env) evacuationPolicy() drain.Policy {
	if policy := drain.Policy(e.Cluster.Spec.Spec.UpgradePolicy.StuckBudget); policy != drain.Skip {
		return policy
	}
	return drain.Stop
}

// evacuateAll drains nodes that leave the cluster.
func (e *Env) evacuateAll(ctx context.Context, phase string, steps []plan.Step, to event.Sink, done func(plan.Step)) error {
	for _, s := range steps {
		if err := e.Evacuate(ctx, s.Want.(resource.NoPods).Node, phase, to); err != nil {
			return err
		}
		done(s)
	}
	return nil
}
