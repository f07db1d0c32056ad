package drain

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
)

// Foresee gives the pods of a node that a drain would wait for in vain, each with the reason: no
// time and no other pod's health lets them go.
func Foresee(ctx context.Context, api kubernetes.Interface, node string, budgets []policyv1.PodDisruptionBudget) ([]Pod, error) {
	pods, err := leaving(ctx, api, node)
	if err != nil {
		return nil, err
	}
	var out []Pod
	for _, p := range pods {
		why, err := keeps(p, budgets)
		if err != nil {
			return nil, err
		}
		if why != "" {
			out = append(out, Pod{p.Namespace, p.Name, why})
		}
	}
	return out, nil
}

// keeps says why a pod can never be evicted; empty when it can (Kubernetes,
// pkg/registry/core/pod/storage: EvictionREST.Create).
func keeps(p corev1.Pod, budgets []policyv1.PodDisruptionBudget) (string, error) {
	switch {
	case p.DeletionTimestamp != nil:
		return "", nil
	case metav1.GetControllerOf(&p) == nil:
		return unowned, nil
	case p.Status.Phase == corev1.PodPending: // budgets are not asked
		return "", nil
	}
	var over []policyv1.PodDisruptionBudget
	for _, b := range budgets {
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err != nil {
			return "", fmt.Errorf("selector of disruption budget %s/%s: %w", b.Namespace, b.Name, err)
		}
		if b.Namespace == p.Namespace && selector.Matches(labels.Set(p.Labels)) {
			over = append(over, b)
		}
	}
	if len(over) > 1 {
		return fmt.Sprintf("disruption budgets %s/%s and %s both count it, and evictions take one at most", over[0].Namespace, over[0].Name, over[1].Name), nil
	}
	for _, b := range Tight(over) {
		if always := over[0].Spec.UnhealthyPodEvictionPolicy; b.Never && (ready(p) || always == nil || *always != policyv1.AlwaysAllow) {
			return fmt.Sprintf("disruption budget %s/%s never lets it go: it %s", b.Namespace, b.Name, b.Why), nil
		}
	}
	return "", nil
}

func ready(p corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
