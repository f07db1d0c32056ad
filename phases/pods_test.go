package phases

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestWhyAPodDoesNotServe(t *testing.T) {
	waiting := func(reason, message string) []corev1.ContainerStatus {
		return []corev1.ContainerStatus{{Name: "coredns", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}}
	}
	condition := func(kind corev1.PodConditionType, status corev1.ConditionStatus, reason, message string) []corev1.PodCondition {
		return []corev1.PodCondition{{Type: kind, Status: status, Reason: reason, Message: message}}
	}
	for name, test := range map[string]struct {
		status corev1.PodStatus
		want   string
	}{
		"no node has room": {corev1.PodStatus{Conditions: condition(corev1.PodScheduled, corev1.ConditionFalse, "Unschedulable", "0/4 nodes are available")}, "Unschedulable: 0/4 nodes are available"},
		"no image":         {corev1.PodStatus{ContainerStatuses: waiting("ErrImagePull", "not found")}, "container coredns waits: ErrImagePull: not found"},
		"is made":          {corev1.PodStatus{ContainerStatuses: waiting("ContainerCreating", "")}, "container coredns waits: ContainerCreating"},
		"probe fails":      {corev1.PodStatus{Conditions: condition(corev1.PodReady, corev1.ConditionFalse, "ContainersNotReady", "containers with unready status: [coredns]")}, "ContainersNotReady: containers with unready status: [coredns]"},
		"well":             {corev1.PodStatus{Conditions: condition(corev1.PodReady, corev1.ConditionTrue, "", "")}, ""},
	} {
		if got := podTrouble(corev1.Pod{Status: test.status}); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
