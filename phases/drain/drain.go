// Package drain moves pods away from a node through the eviction API, which asks disruption
// budgets (Kubernetes, "API-initiated Eviction").
package drain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"

	"clusterctl/phases/health"
	"clusterctl/phases/kube"
	"clusterctl/provision/event"
)

// Policy says what becomes of a node whose pods do not go in time.
type Policy string

const (
	Stop   Policy = "stop"   // end the run; the node stays cordoned, the next run goes on there
	Skip   Policy = "skip"   // leave the node as it was and go on with the next
	Delete Policy = "delete" // delete what stayed, whatever its budget says
)

// Options is how a node is drained.
type Options struct {
	Timeout time.Duration // for all pods to be gone
	Stuck   Policy        // empty: Stop
	Phase   string        // for events
}

// Pod is a pod that is still on the node, and why.
type Pod struct{ Namespace, Name, Why string }

// StuckError says that pods did not leave a node. It names each with the budget that keeps it.
type StuckError struct {
	Node string
	Pods []Pod
}

func (e *StuckError) Error() string {
	lines := make([]string, len(e.Pods))
	for i, p := range e.Pods {
		lines[i] = fmt.Sprintf("pod %s/%s: %s", p.Namespace, p.Name, p.Why)
	}
	return strings.Join(lines, "; ")
}

const (
	every       = 250 * time.Millisecond
	afterDelete = 2 * time.Minute // grace periods of pods that are deleted at last
)

// Node cordons a node and evicts its pods, until none is left but those of DaemonSets, static
// pods and pods that have ended. It may be interrupted and repeated at any moment. When pods stay
// it gives a *StuckError, after doing what the policy says. Cordon and eviction of a node that
// does not exist are done already.
func Node(ctx context.Context, api kubernetes.Interface, node string, o Options, to event.Sink) error {
	if err := kube.Cordon(ctx, api, node); err != nil {
		return err
	}
	err := wait(ctx, node, o.Timeout, o.Phase, to, func(ctx context.Context) error { return round(ctx, api, node) })
	stuck, ok := errors.AsType[*StuckError](err)
	switch {
	case err == nil:
		return nil
	case ok && o.Stuck == Delete:
		if err := remove(ctx, api, stuck.Pods); err != nil {
			return err
		}
		return wait(ctx, node, afterDelete, o.Phase, to, func(ctx context.Context) error { return round(ctx, api, node) })
	case ok && o.Stuck == Skip:
		return errors.Join(err, kube.Uncordon(ctx, api, node))
	}
	return err
}

func wait(ctx context.Context, node string, timeout time.Duration, phase string, to event.Sink, check func(context.Context) error) error {
	return health.Wait(ctx, []health.Condition{{Name: "node drained", Host: node, Timeout: timeout, Every: every, Check: check}}, phase, to)
}

// round asks once for every pod that must go; it is nil when none is left.
func round(ctx context.Context, api kubernetes.Interface, node string) error {
	pods, err := leaving(ctx, api, node)
	if err != nil {
		return err
	}
	why := make([]string, len(pods))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(8)
	for i, p := range pods {
		g.Go(func() (err error) {
			why[i], err = evict(ctx, api, p)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	stuck := &StuckError{Node: node}
	for i, p := range pods {
		if why[i] != "" {
			stuck.Pods = append(stuck.Pods, Pod{p.Namespace, p.Name, why[i]})
		}
	}
	if len(stuck.Pods) == 0 {
		return nil
	}
	return stuck
}

// leaving lists the pods of a node that a drain moves.
func leaving(ctx context.Context, api kubernetes.Interface, node string) ([]corev1.Pod, error) {
	selector := fields.OneTermEqualSelector("spec.nodeName", node).String()
	list, err := api.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{FieldSelector: selector})
	if err != nil {
		return nil, fmt.Errorf("list pods of node %s: %w", node, err)
	}
	return slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return p.Spec.NodeName != node || stays(p) }), nil
}

// stays tells whether a drain leaves a pod where it is: it belongs to the node, or has ended.
func stays(p corev1.Pod) bool {
	_, static := p.Annotations[corev1.MirrorPodAnnotationKey]
	owner := metav1.GetControllerOf(&p)
	ended := p.DeletionTimestamp == nil && (p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed)
	return static || ended || owner != nil && owner.Kind == "DaemonSet"
}

const unowned = "has no controller that would make it again elsewhere"

// evict asks for one pod and says why it is still there; empty when it is gone.
func evict(ctx context.Context, api kubernetes.Interface, p corev1.Pod) (why string, err error) {
	switch {
	case p.DeletionTimestamp != nil:
		return "is ending", nil
	case metav1.GetControllerOf(&p) == nil:
		return unowned, nil
	}
	err = api.PolicyV1().Evictions(p.Namespace).Evict(ctx, &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(p.UID))},
	})
	switch {
	case err == nil:
		return "is ending", nil
	case apierrors.IsNotFound(err), apierrors.IsConflict(err): // gone, or another of the same name
		return "", nil
	case apierrors.IsTooManyRequests(err), apierrors.IsInternalError(err): // a budget, or several
		return refusal(err), nil
	}
	return "", fmt.Errorf("evict pod %s/%s: %w", p.Namespace, p.Name, err)
}

// refusal is what the server says of the budget that keeps a pod.
func refusal(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil {
		for _, c := range status.Status().Details.Causes {
			if c.Type == policyv1.DisruptionBudgetCause {
				return c.Message
			}
		}
	}
	return err.Error()
}

// remove deletes pods without asking their budgets.
func remove(ctx context.Context, api kubernetes.Interface, pods []Pod) error {
	for _, p := range pods {
		if err := api.CoreV1().Pods(p.Namespace).Delete(ctx, p.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete pod %s/%s: %w", p.Namespace, p.Name, err)
		}
	}
	return nil
}
