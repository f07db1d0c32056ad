package drain

import (
	"context"
	"fmt"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
)

// Budget is a disruption budget that lets no pod go.
type Budget struct {
	Namespace, Name string
	Never           bool // not even when all its pods are healthy
	Why             string
}

// Budgets asks for the disruption budgets of all namespaces.
func Budgets(ctx context.Context, api kubernetes.Interface) ([]policyv1.PodDisruptionBudget, error) {
	list, err := api.PolicyV1().PodDisruptionBudgets(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list disruption budgets: %w", err)
	}
	return list.Items, nil
}

// Tight gives the budgets that allow no eviction now. Those that will never allow one are marked:
// waiting does not help them.
func Tight(budgets []policyv1.PodDisruptionBudget) []Budget {
	var out []Budget
	for _, b := range budgets {
		st := b.Status
		if st.DisruptionsAllowed > 0 || st.ExpectedPods == 0 {
			continue
		}
		never := st.DesiredHealthy >= st.ExpectedPods || zero(b.Spec.MaxUnavailable)
		out = append(out, Budget{b.Namespace, b.Name, never, fmt.Sprintf("needs %d healthy pods of %d and has %d", st.DesiredHealthy, st.ExpectedPods, st.CurrentHealthy)})
	}
	return out
}

func zero(v *intstr.IntOrString) bool {
	return v != nil && (v.String() == "0" || v.String() == "0%")
}
