package phases_test

import (
	"context"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"clusterctl/phases"
	"clusterctl/provision/event"
)

func volume(name string, policy corev1.PersistentVolumeReclaimPolicy, annotations map[string]string) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations},
		Spec: corev1.PersistentVolumeSpec{
			PersistentVolumeSource:        corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "ebs.csi.aws.com", VolumeHandle: "vol-" + name}},
			PersistentVolumeReclaimPolicy: policy, ClaimRef: &corev1.ObjectReference{Namespace: "shop", Name: name},
		},
	}
}

// TestReleaseDeletesWhatOutlivesHosts: load balancers and dynamic volumes go, with the pods that keep
// the volumes; what the cluster did not make, or was told to keep, stays.
func TestReleaseDeletesWhatOutlivesHosts(t *testing.T) {
	in := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "shop", Name: name} }
	uses := func(name, claim string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: in(name), Spec: corev1.PodSpec{Volumes: []corev1.Volume{{VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}}}}
	}
	made := map[string]string{"pv.kubernetes.io/provisioned-by": "ebs.csi.aws.com"}
	api := fake.NewClientset(
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "dev-default-1"}},
		&corev1.Service{ObjectMeta: in("front"), Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}},
		&corev1.Service{ObjectMeta: in("back"), Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP}},
		&corev1.PersistentVolumeClaim{ObjectMeta: in("data")}, &corev1.PersistentVolumeClaim{ObjectMeta: in("kept")}, &corev1.PersistentVolumeClaim{ObjectMeta: in("by-hand")},
		volume("data", corev1.PersistentVolumeReclaimDelete, made), volume("kept", corev1.PersistentVolumeReclaimRetain, made), volume("by-hand", corev1.PersistentVolumeReclaimDelete, nil),
		uses("db-0", "data"), uses("old-0", "kept"),
	)
	// The driver deletes a volume some time after its claim.
	api.PrependReactor("delete", "persistentvolumeclaims", func(a k8stesting.Action) (bool, runtime.Object, error) {
		name := a.(k8stesting.DeleteAction).GetName()
		return false, nil, api.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("persistentvolumes"), "", name)
	})
	var told []string
	to := event.Func(func(e event.Event) {
		if e.Kind == event.Warning {
			told = append(told, e.Text)
		}
	})
	if err := phases.Release(t.Context(), api, to); err != nil {
		t.Fatal(err)
	}
	if want := []string{"volume kept (vol-kept) stays: its policy is Retain"}; !slices.Equal(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
	ctx := context.Background()
	services, _ := api.CoreV1().Services("").List(ctx, metav1.ListOptions{})
	volumes, _ := api.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
	pods, _ := api.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if len(services.Items) != 1 || services.Items[0].Name != "back" {
		t.Errorf("Services left: %v", services.Items)
	}
	if len(volumes.Items) != 2 || volumes.Items[0].Name != "by-hand" || volumes.Items[1].Name != "kept" {
		t.Errorf("volumes left: %v", volumes.Items)
	}
	if len(pods.Items) != 1 || pods.Items[0].Name != "old-0" {
		t.Errorf("pods left: %v", pods.Items)
	}
	node, err := api.CoreV1().Nodes().Get(ctx, "dev-default-1", metav1.GetOptions{})
	if err != nil || !node.Spec.Unschedulable {
		t.Errorf("the node takes new pods: %v", err)
	}
}
