package phases

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	ktest "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"clusterctl/phases/drain"
	"clusterctl/phases/preflight"
)

// stuckObjects are a pod on worker-1 and the budget that never lets it go.
func stuckObjects() []runtime.Object {
	labels := map[string]string{"app": "db"}
	return []runtime.Object{
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db-0", Labels: labels,
			OwnerReferences: []metav1.OwnerReference{{Kind: "StatefulSet", Controller: ptr.To(true)}}}, Spec: corev1.PodSpec{NodeName: "worker-1"}},
		&policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"},
			Spec:   policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}},
			Status: policyv1.PodDisruptionBudgetStatus{DesiredHealthy: 1, CurrentHealthy: 1, ExpectedPods: 1}},
	}
}

func TestPodsThatWouldNeverLeaveAreNamedBeforehand(t *testing.T) {
	for policy, severity := range map[drain.Policy]preflight.Severity{drain.Stop: preflight.SeverityError, drain.Delete: preflight.SeverityWarning} {
		found := foreseeStuck(t.Context(), fake.NewClientset(stuckObjects()...), policy, []string{"worker-1", "worker-2"})
		if len(found) != 1 || found[0].Severity != severity || found[0].Host != "worker-1" {
			t.Fatalf("%s: findings %v", policy, found)
		}
		for _, part := range []string{"pod shop/db-0", "disruption budget shop/db", "needs 1 healthy pods of 1", "stuckBudget"} {
			if text := found[0].String(); !strings.Contains(text, part) {
				t.Errorf("%s: %q says nothing of %q", policy, text, part)
			}
		}
	}
}

func TestAnAPIThatDoesNotAnswerIsAWarning(t *testing.T) {
	api := fake.NewClientset()
	api.PrependReactor("list", "poddisruptionbudgets", func(ktest.Action) (bool, runtime.Object, error) {
		return true, nil, context.DeadlineExceeded
	})
	found := foreseeStuck(t.Context(), api, drain.Stop, []string{"worker-1"})
	if len(found) != 1 || found[0].Severity != preflight.SeverityWarning || found[0].Check != "api" || !strings.Contains(found[0].Message, "worker-1") {
		t.Errorf("findings %v", found)
	}
}
