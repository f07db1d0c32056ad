package phases

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// explainPods tells of each pod that a selector names why it does not serve.
func (e *Env) explainPods(namespace, selector string) func(context.Context) string {
	return func(ctx context.Context) string {
		api, err := e.API(ctx)
		if err != nil {
			return "" // the condition's own error is what counts
		}
		pods, err := api.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			return ""
		}
		var lines []string
		for _, p := range pods.Items {
			if why := podTrouble(p); why != "" {
				lines = append(lines, fmt.Sprintf("pod %s/%s on %s: %s", p.Namespace, p.Name, cmp.Or(p.Spec.NodeName, "no node"), why))
			}
		}
		return strings.Join(lines, "\n")
	}
}

// podTrouble is what keeps a pod from being ready: a container that waits, or the condition that says
// most. Empty: nothing does.
func podTrouble(p corev1.Pod) string {
	for _, c := range append(p.Status.InitContainerStatuses, p.Status.ContainerStatuses...) {
		if w := c.State.Waiting; w != nil {
			return strings.TrimSuffix(fmt.Sprintf("container %s waits: %s: %s", c.Name, w.Reason, w.Message), ": ")
		}
	}
	for _, kind := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodReady} {
		for _, c := range p.Status.Conditions {
			if c.Type == kind && c.Status != corev1.ConditionTrue {
				return strings.TrimSuffix(c.Reason+": "+c.Message, ": ")
			}
		}
	}
	return ""
}
