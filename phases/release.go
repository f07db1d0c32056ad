package phases

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"clusterctl/phases/health"
	"clusterctl/phases/kube"
	"clusterctl/provision/event"
)

// releaseTime is how long controllers may take to delete what they made in a cloud.
const releaseTime = 5 * time.Minute

// provisionedBy is on volumes that a driver made for a claim (Kubernetes, "Well-Known Labels,
// Annotations and Taints").
const provisionedBy = "pv.kubernetes.io/provisioned-by"

// Release has the cluster delete what it made in a cloud and what would outlive its hosts: the load
// balancers of Services, and the volumes that drivers made for claims, with the pods that use them.
// Volumes whose policy is Retain stay, and to is told of each. Nodes are cordoned first: a pod that comes again would have
// its volume made again. It returns when the controllers have done it, or names what is left.
func Release(ctx context.Context, api kubernetes.Interface, to event.Sink) error {
	nodes, err := api.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list the nodes: %w", err)
	}
	for _, n := range nodes.Items {
		if err := kube.Cordon(ctx, api, n.Name); err != nil {
			return err
		}
	}
	err = health.Wait(ctx, []health.Condition{{
		Name: "what Kubernetes made in the cloud is deleted", Timeout: releaseTime, Every: time.Second,
		Check: func(ctx context.Context) error { return releaseRound(ctx, api) },
	}}, "hosts", to)
	if err != nil {
		return err
	}
	return tellRetained(ctx, api, to)
}

// tellRetained names the volumes that stay where they are, for nobody can ask the cluster any more.
func tellRetained(ctx context.Context, api kubernetes.Interface, to event.Sink) error {
	list, err := api.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list the volumes: %w", err)
	}
	for _, v := range list.Items {
		if v.Annotations[provisionedBy] != "" && v.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRetain {
			to.Emit(event.Event{Time: time.Now(), Kind: event.Warning, Phase: "hosts", Text: titleOf(v) + " stays: its policy is Retain"})
		}
	}
	return nil
}

// titleOf is a volume with its id in the cloud.
func titleOf(v corev1.PersistentVolume) string {
	if v.Spec.CSI == nil {
		return "volume " + v.Name
	}
	return "volume " + v.Name + " (" + v.Spec.CSI.VolumeHandle + ")"
}

// releaseRound asks for the deletion of what is there still; nil when nothing is.
func releaseRound(ctx context.Context, api kubernetes.Interface) error {
	services, err := releaseServices(ctx, api)
	if err != nil {
		return err
	}
	volumes, err := releaseVolumes(ctx, api)
	if err != nil {
		return err
	}
	if left := slices.Concat(services, volumes); len(left) > 0 {
		return errors.New("there is still " + strings.Join(left, ", "))
	}
	return nil
}

// releaseServices deletes the Services that have a load balancer. Each is held by its finalizer until
// the cloud's controller has deleted the load balancer.
func releaseServices(ctx context.Context, api kubernetes.Interface) (left []string, err error) {
	list, err := api.CoreV1().Services("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the Services: %w", err)
	}
	for _, s := range list.Items {
		if s.Spec.Type != corev1.ServiceTypeLoadBalancer {
			continue
		}
		left = append(left, "Service "+s.Namespace+"/"+s.Name)
		if s.DeletionTimestamp == nil {
			if err := gone(api.CoreV1().Services(s.Namespace).Delete(ctx, s.Name, metav1.DeleteOptions{})); err != nil {
				return nil, fmt.Errorf("delete Service %s/%s: %w", s.Namespace, s.Name, err)
			}
		}
	}
	return left, nil
}

// releaseVolumes deletes the claims of volumes that go with their claim.
func releaseVolumes(ctx context.Context, api kubernetes.Interface) (left []string, err error) {
	list, err := api.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the volumes: %w", err)
	}
	for _, v := range list.Items {
		if v.Annotations[provisionedBy] == "" || v.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimDelete {
			continue
		}
		left = append(left, titleOf(v))
		if c := v.Spec.ClaimRef; c != nil {
			if err := releaseClaim(ctx, api, c.Namespace, c.Name); err != nil {
				return nil, fmt.Errorf("delete claim %s/%s: %w", c.Namespace, c.Name, err)
			}
		}
	}
	return left, nil
}

// releaseClaim deletes a claim, and the pods that keep it from going.
func releaseClaim(ctx context.Context, api kubernetes.Interface, namespace, name string) error {
	pods, err := api.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	errs := []error{gone(api.CoreV1().PersistentVolumeClaims(namespace).Delete(ctx, name, metav1.DeleteOptions{}))}
	for _, p := range pods.Items {
		uses := slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool {
			return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == name
		})
		if uses && p.DeletionTimestamp == nil {
			errs = append(errs, gone(api.CoreV1().Pods(namespace).Delete(ctx, p.Name, metav1.DeleteOptions{})))
		}
	}
	return errors.Join(errs...)
}

// gone takes what is not there for deleted.
func gone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
