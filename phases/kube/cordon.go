package kube

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"
)

// cordonedAnnotation marks on a node that its cordon is ours: a later run ends it, and leaves
// those alone that people made.
const cordonedAnnotation = "clusterctl/cordoned"

// CordonedByUs tells whether we keep pods away from a node.
func CordonedByUs(n *corev1.Node) bool {
	_, ours := n.Annotations[cordonedAnnotation]
	return ours
}

// Cordon keeps new pods away from a node. A node that is cordoned already stays what it is: a
// person's cordon does not become ours. A node that is not there needs none.
func Cordon(ctx context.Context, api kubernetes.Interface, node string) error {
	return change(ctx, api, "cordon", node, func(n *corev1.Node) bool {
		if n.Spec.Unschedulable {
			return false
		}
		n.Spec.Unschedulable = true
		metav1.SetMetaDataAnnotation(&n.ObjectMeta, cordonedAnnotation, "true")
		return true
	})
}

// Uncordon lets pods come to a node again where we kept them away.
func Uncordon(ctx context.Context, api kubernetes.Interface, node string) error {
	return change(ctx, api, "uncordon", node, func(n *corev1.Node) bool {
		if !CordonedByUs(n) {
			return false
		}
		n.Spec.Unschedulable = false
		delete(n.Annotations, cordonedAnnotation)
		return true
	})
}

// change updates a node where edit says that there is something to update.
func change(ctx context.Context, api kubernetes.Interface, what, node string, edit func(*corev1.Node) bool) error {
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		n, err := api.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil || !edit(n) {
			return err
		}
		_, err = api.CoreV1().Nodes().Update(ctx, n, metav1.UpdateOptions{FieldManager: FieldManager})
		return err
	})
	if err != nil {
		return fmt.Errorf("%s node %s: %w", what, node, err)
	}
	return nil
}
