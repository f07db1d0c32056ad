package drain_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/fake"
	ktest "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"clusterctl/phases/drain"
	"clusterctl/phases/kube"
	"clusterctl/provision/event"
)

func node(name string) *corev1.Node { return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}} }

// pod is a pod on node w1 whose controller is of the kind; no kind: none.
func pod(name, controller string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: "u"}, Spec: corev1.PodSpec{NodeName: "w1"}}
	if controller != "" {
		p.OwnerReferences = []metav1.OwnerReference{{Kind: controller, Controller: ptr.To(true)}}
	}
	return p
}

// cluster is an API whose evictions end pods at once, but for those that a budget keeps.
func cluster(kept map[string]bool, objects ...runtime.Object) (*fake.Clientset, *[]string) {
	api := fake.NewClientset(objects...)
	var log []string
	api.PrependReactor("create", "pods", func(a ktest.Action) (bool, runtime.Object, error) {
		if a.GetSubresource() != "eviction" {
			return false, nil, nil
		}
		e := a.(ktest.CreateAction).GetObject().(*policyv1.Eviction)
		if kept[e.Name] {
			err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
			err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
				Type: policyv1.DisruptionBudgetCause, Message: "The disruption budget web needs 1 healthy pods and has 1 currently"})
			return true, nil, err
		}
		log = append(log, "evict "+e.Name)
		return true, e, api.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("pods"), e.Namespace, e.Name)
	})
	return api, &log
}

func get(t *testing.T, api *fake.Clientset, name string) *corev1.Node {
	t.Helper()
	n, err := api.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func podNames(t *testing.T, api *fake.Clientset) []string {
	t.Helper()
	list, err := api.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, p := range list.Items {
		out = append(out, p.Name)
	}
	return out
}

func TestDrainMovesWhatCanLiveElsewhereAndNothingElse(t *testing.T) {
	static := pod("static", "Node")
	static.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
	ended := pod("ended", "Job")
	ended.Status.Phase = corev1.PodSucceeded
	other := pod("other", "ReplicaSet")
	other.Spec.NodeName = "w2"
	api, log := cluster(nil, node("w1"), pod("web", "ReplicaSet"), pod("db", "StatefulSet"), pod("agent", "DaemonSet"), static, ended, other)
	if err := drain.Node(t.Context(), api, "w1", drain.Options{Timeout: time.Minute}, event.Discard); err != nil {
		t.Fatal(err)
	}
	slices.Sort(*log)
	if !slices.Equal(*log, []string{"evict db", "evict web"}) {
		t.Errorf("evicted %v", *log)
	}
	if n := get(t, api, "w1"); !n.Spec.Unschedulable || !kube.CordonedByUs(n) {
		t.Error("the node is not cordoned by us")
	}
	if err := kube.Uncordon(t.Context(), api, "w1"); err != nil {
		t.Fatal(err)
	}
	if n := get(t, api, "w1"); n.Spec.Unschedulable || kube.CordonedByUs(n) {
		t.Error("the cordon stayed")
	}
}

func TestAStuckBudgetIsNamedWithItsPod(t *testing.T) {
	for _, c := range []struct {
		policy   drain.Policy
		stuck    bool
		cordoned bool
		left     []string
	}{
		{drain.Stop, true, true, []string{"web"}},
		{drain.Skip, true, false, []string{"web"}},
		{drain.Delete, false, true, nil},
	} {
		t.Run(string(c.policy), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api, _ := cluster(map[string]bool{"web": true}, node("w1"), pod("web", "ReplicaSet"), pod("free", "ReplicaSet"))
				began := time.Now()
				err := drain.Node(t.Context(), api, "w1", drain.Options{Timeout: time.Minute, Stuck: c.policy}, event.Discard)
				stuck, ok := errors.AsType[*drain.StuckError](err)
				if ok != c.stuck || (err != nil) != c.stuck {
					t.Fatalf("error %v", err)
				}
				if took := time.Since(began); took < time.Minute || took > 62*time.Second {
					t.Errorf("gave up after %v, want a minute", took)
				}
				if ok && (len(stuck.Pods) != 1 || !strings.Contains(err.Error(), "pod default/web: The disruption budget web needs 1 healthy pods")) {
					t.Errorf("error %v", err)
				}
				if left := podNames(t, api); !slices.Equal(left, c.left) {
					t.Errorf("left %v, want %v", left, c.left)
				}
				if n := get(t, api, "w1"); n.Spec.Unschedulable != c.cordoned || kube.CordonedByUs(n) != c.cordoned {
					t.Errorf("cordoned %v by us %v, want %v", n.Spec.Unschedulable, kube.CordonedByUs(n), c.cordoned)
				}
			})
		})
	}
}

// TestAgainAfterAStuckDrain: the node that was left cordoned by us is picked up, not waited for.
func TestAgainAfterAStuckDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := map[string]bool{"web": true}
		api, log := cluster(kept, node("w1"), pod("web", "ReplicaSet"))
		if err := drain.Node(t.Context(), api, "w1", drain.Options{Timeout: time.Second}, event.Discard); err == nil {
			t.Fatal("want a stuck drain")
		}
		delete(kept, "web")
		if err := drain.Node(t.Context(), api, "w1", drain.Options{Timeout: time.Second}, event.Discard); err != nil || !slices.Equal(*log, []string{"evict web"}) {
			t.Errorf("error %v, log %v", err, *log)
		}
	})
}

func TestAPersonsCordonStays(t *testing.T) {
	n := node("w1")
	n.Spec.Unschedulable = true
	api, _ := cluster(nil, n)
	if err := drain.Node(t.Context(), api, "w1", drain.Options{Timeout: time.Second}, event.Discard); err != nil {
		t.Fatal(err)
	}
	if err := kube.Uncordon(t.Context(), api, "w1"); err != nil {
		t.Fatal(err)
	}
	if n := get(t, api, "w1"); !n.Spec.Unschedulable || kube.CordonedByUs(n) {
		t.Error("a cordon that is not ours was taken or taken away")
	}
}

func TestAPodWithoutControllerIsNotLostSilently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, _ := cluster(nil, node("w1"), pod("alone", ""))
		err := drain.Node(t.Context(), api, "w1", drain.Options{Timeout: time.Second}, event.Discard)
		if err == nil || !strings.Contains(err.Error(), "pod default/alone: has no controller") {
			t.Errorf("error %v", err)
		}
	})
}

func TestANodeThatIsNotThereIsDrained(t *testing.T) {
	api, _ := cluster(nil)
	if err := drain.Node(t.Context(), api, "w9", drain.Options{Timeout: time.Second}, event.Discard); err != nil {
		t.Error(err)
	}
}

func TestAnInterruptedDrainEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, _ := cluster(map[string]bool{"web": true}, node("w1"), pod("web", "ReplicaSet"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := drain.Node(ctx, api, "w1", drain.Options{Timeout: time.Hour, Stuck: drain.Delete}, event.Discard); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		if left := podNames(t, api); len(left) != 1 {
			t.Error("an interrupted drain deleted pods")
		}
	})
}

func TestBudgetsThatCanNeverBeMet(t *testing.T) {
	budget := func(name string, desired, healthy, expected, allowed int32, most *intstr.IntOrString) policyv1.PodDisruptionBudget {
		return policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: policyv1.PodDisruptionBudgetSpec{MaxUnavailable: most},
			Status: policyv1.PodDisruptionBudgetStatus{DesiredHealthy: desired, CurrentHealthy: healthy, ExpectedPods: expected, DisruptionsAllowed: allowed},
		}
	}
	got := drain.Tight([]policyv1.PodDisruptionBudget{
		budget("one of one", 1, 1, 1, 0, nil), budget("sick", 2, 2, 3, 0, nil), budget("fine", 1, 2, 2, 1, nil),
		budget("no pods", 1, 0, 0, 0, nil), budget("none may go", 0, 2, 2, 0, ptr.To(intstr.FromInt32(0))),
	})
	var names []string
	for _, b := range got {
		if b.Never {
			names = append(names, "never "+b.Name)
			continue
		}
		names = append(names, b.Name)
	}
	if want := []string{"never one of one", "sick", "never none may go"}; !slices.Equal(names, want) {
		t.Errorf("budgets %q, want %q", names, want)
	}
}

// TestPodsThatNoTimeLetsGo: what a drain would wait for in vain is known beforehand, and nothing else.
func TestPodsThatNoTimeLetsGo(t *testing.T) {
	budget := func(name, app string, desired int32, policy *policyv1.UnhealthyPodEvictionPolicyType) policyv1.PodDisruptionBudget {
		return policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
			Spec:   policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}, UnhealthyPodEvictionPolicy: policy},
			Status: policyv1.PodDisruptionBudgetStatus{DesiredHealthy: desired, CurrentHealthy: 2, ExpectedPods: 2}}
	}
	budgets := []policyv1.PodDisruptionBudget{
		budget("all", "db", 2, nil), budget("wait", "web", 1, nil), budget("sick", "sick", 2, ptr.To(policyv1.AlwaysAllow)),
		budget("twice", "two", 1, nil), budget("again", "two", 1, nil),
	}
	var objects []runtime.Object
	add := func(name, app, controller string, edit func(*corev1.Pod)) {
		p := pod(name, controller)
		p.Labels, p.Status.Phase = map[string]string{"app": app}, corev1.PodRunning
		if edit != nil {
			edit(p)
		}
		objects = append(objects, p)
	}
	add("db-0", "db", "StatefulSet", nil)
	add("db-elsewhere", "db", "StatefulSet", func(p *corev1.Pod) { p.Namespace = "other" })
	add("db-pending", "db", "StatefulSet", func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending })
	add("db-w2", "db", "StatefulSet", func(p *corev1.Pod) { p.Spec.NodeName = "w2" })
	add("agent", "db", "DaemonSet", nil)
	add("web-0", "web", "ReplicaSet", nil)
	add("sick-0", "sick", "ReplicaSet", nil)
	add("sick-ready", "sick", "ReplicaSet", func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	})
	add("two-0", "two", "ReplicaSet", nil)
	add("alone", "", "", nil)
	api, _ := cluster(nil, objects...)
	got, err := drain.Foresee(t.Context(), api, "w1", budgets)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"db-0": "budget default/all never", "sick-ready": "budget default/sick never", "two-0": "budgets default/twice and again both", "alone": "no controller"}
	for _, p := range got {
		if why, ok := want[p.Name]; !ok || !strings.Contains(p.Why, why) {
			t.Errorf("pod %s: %s", p.Name, p.Why)
		}
		delete(want, p.Name)
	}
	if len(want) > 0 {
		t.Errorf("not foreseen: %v", want)
	}
}
