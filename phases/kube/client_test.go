package kube

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	ktest "k8s.io/client-go/testing"

	"clusterctl/components/resource"
)

// object is what the server keeps of an object.
type object = map[string]any

// server is as much of an API server as applying objects needs: discovery, get and server-side
// apply. It adds a default to every object that it stores, as a real one does.
type server struct {
	mu      sync.Mutex
	objects map[string]object // by path
	applied []string          // paths, with ?dryRun where it was only asked
	broken  bool
}

const configMaps = "/api/v1/namespaces/kube-system/configmaps/"

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.broken:
		s.fail(w, apierrors.NewInternalError(errors.New("etcdserver: no leader")))
	case r.URL.Path == "/api":
		s.write(w, object{"kind": "APIVersions", "versions": []string{"v1"}})
	case r.URL.Path == "/apis":
		s.write(w, object{"kind": "APIGroupList", "apiVersion": "v1", "groups": []any{}})
	case r.URL.Path == "/api/v1":
		verbs := []string{"get", "list", "patch"}
		s.write(w, object{"kind": "APIResourceList", "groupVersion": "v1", "resources": []object{
			{"name": "configmaps", "singularName": "configmap", "namespaced": true, "kind": "ConfigMap", "verbs": verbs},
			{"name": "namespaces", "singularName": "namespace", "namespaced": false, "kind": "Namespace", "verbs": verbs},
		}})
	case r.URL.Path == "/api/v1/nodes":
		s.write(w, object{"kind": "NodeList", "apiVersion": "v1", "items": []any{}})
	case r.Method == http.MethodPatch:
		s.apply(w, r)
	default:
		o, ok := s.objects[r.URL.Path]
		if !ok {
			s.fail(w, apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, r.URL.Path))
			return
		}
		s.write(w, o)
	}
}

func (s *server) apply(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	sent := object{}
	if err != nil || json.Unmarshal(body, &sent) != nil || r.Header.Get("Content-Type") != "application/apply-patch+yaml" ||
		r.URL.Query().Get("fieldManager") != FieldManager || r.URL.Query().Get("force") != "true" {
		s.fail(w, apierrors.NewBadRequest("no server-side apply of ours"))
		return
	}
	next := object{}
	maps.Copy(next, s.objects[r.URL.Path])
	maps.Copy(next, sent)
	next["immutable"] = false // a default
	meta := object{"resourceVersion": "7", "managedFields": []any{object{"manager": FieldManager, "time": "2026-12-01T12:00:00Z"}}}
	maps.Copy(meta, sent["metadata"].(object))
	next["metadata"] = meta
	if r.URL.Query().Get("dryRun") == "All" {
		s.applied = append(s.applied, r.URL.Path+"?dryRun")
		meta["resourceVersion"] = "8"
	} else {
		s.applied = append(s.applied, r.URL.Path)
		s.objects[r.URL.Path] = next
	}
	s.write(w, next)
}

func (s *server) write(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client sees a short answer
}

func (s *server) fail(w http.ResponseWriter, err *apierrors.StatusError) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(err.ErrStatus.Code))
	_ = json.NewEncoder(w).Encode(err.ErrStatus)
}

// connect starts an API server and gives a client that reaches it by dialling through a host.
func connect(t *testing.T) (*server, *Client) {
	t.Helper()
	s := &server{objects: map[string]object{}}
	ts := httptest.NewTLSServer(s)
	t.Cleanup(ts.Close)
	c, err := New(dialTo(ts), Credentials{CA: caOf(ts)})
	if err != nil {
		t.Fatal(err)
	}
	return s, c
}

func dialTo(ts *httptest.Server) Dial {
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", ts.Listener.Addr().String())
	}
}

func configMap(t *testing.T, value string) resource.Manifest {
	t.Helper()
	rs, err := resource.Manifests(&corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "kube-system"},
		Data: map[string]string{"key": value},
	})
	if err != nil {
		t.Fatal(err)
	}
	return rs[0].(resource.Manifest)
}

func factOf(t *testing.T, c *Client, r resource.Resource) resource.Fact {
	t.Helper()
	facts, err := c.Facts(t.Context(), []resource.Resource{r})
	if err != nil {
		t.Fatal(err)
	}
	return facts[r.Key()]
}

func TestAnObjectThatIsMissingIsAbsent(t *testing.T) {
	s, c := connect(t)
	if f := factOf(t, c, configMap(t, "a")); f.Exists || len(s.applied) != 0 {
		t.Errorf("fact %+v, applied %v", f, s.applied)
	}
}

func TestAnAppliedObjectIsAsWantedAlthoughTheServerAddsDefaults(t *testing.T) {
	s, c := connect(t)
	m := configMap(t, "a")
	if _, err := c.Apply(t.Context(), m.Object, Persist); err != nil {
		t.Fatal(err)
	}
	if f := factOf(t, c, m); !f.Exists || f.Digest != m.Digest() {
		t.Errorf("fact %+v, want the digest %s", f, m.Digest())
	}
	if want := []string{configMaps + "x", configMaps + "x?dryRun"}; !slices.Equal(s.applied, want) {
		t.Errorf("applied %v, want %v", s.applied, want)
	}
}

func TestAnObjectThatSomebodyChangedDiffersAndAskingChangesNothing(t *testing.T) {
	s, c := connect(t)
	if _, err := c.Apply(t.Context(), configMap(t, "a").Object, Persist); err != nil {
		t.Fatal(err)
	}
	m := configMap(t, "b")
	if f := factOf(t, c, m); !f.Exists || f.Digest == m.Digest() || f.Detail == "" {
		t.Errorf("fact %+v, want one that differs", f)
	}
	data := s.objects[configMaps+"x"]["data"].(object)
	if data["key"] != "a" {
		t.Errorf("asking changed the object: %v", data)
	}
}

func TestFactsOfABrokenServerAreAnError(t *testing.T) {
	s, c := connect(t)
	s.broken = true
	if facts, err := c.Facts(t.Context(), []resource.Resource{configMap(t, "a")}); err == nil || facts != nil {
		t.Errorf("facts %v, error %v", facts, err)
	}
}

func TestAKindThatTheServerLacksIsNamed(t *testing.T) {
	_, c := connect(t)
	o := configMap(t, "a").Object.DeepCopy()
	o.SetKind("Strange")
	if _, err := c.Apply(t.Context(), o, Persist); err == nil || !strings.Contains(err.Error(), "Strange") {
		t.Errorf("error %v", err)
	}
}

// nodeClient is a client of a cluster with these nodes.
func nodeClient(nodes ...runtime.Object) (*Client, *fake.Clientset) {
	set := fake.NewClientset(nodes...)
	return &Client{Interface: set}, set
}

func node(labels map[string]string, taints ...corev1.Taint) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-1", Labels: labels}, Spec: corev1.NodeSpec{Taints: taints}}
}

func taint(key, value string) corev1.Taint {
	return corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffectNoSchedule}
}

func TestNodeFactsLookAtOurLabelsAndTaintsAlone(t *testing.T) {
	want := resource.Node{Host: "worker-1", Labels: map[string]string{"pool": "default"}, Taints: []corev1.Taint{taint("batch", "yes")}}
	for name, c := range map[string]struct {
		have *corev1.Node
		good bool
	}{
		"as wanted":      {node(map[string]string{"pool": "default"}, taint("batch", "yes")), true},
		"others beside":  {node(map[string]string{"pool": "default", "zone": "a"}, taint("node.kubernetes.io/not-ready", ""), taint("batch", "yes")), true},
		"label missing":  {node(nil, taint("batch", "yes")), false},
		"label differs":  {node(map[string]string{"pool": "other"}, taint("batch", "yes")), false},
		"taint missing":  {node(map[string]string{"pool": "default"}), false},
		"taint's value":  {node(map[string]string{"pool": "default"}, taint("batch", "no")), false},
		"taint's effect": {node(map[string]string{"pool": "default"}, corev1.Taint{Key: "batch", Value: "yes", Effect: corev1.TaintEffectNoExecute}), false},
	} {
		api, _ := nodeClient(c.have)
		f := factOf(t, api, want)
		if !f.Exists || (f.Digest == want.Digest()) != c.good {
			t.Errorf("%s: fact %+v, want as wanted: %v", name, f, c.good)
		}
	}
	api, _ := nodeClient()
	if f := factOf(t, api, want); f.Exists {
		t.Errorf("a node that never registered exists: %+v", f)
	}
}

// Where a node's machine is, whoever told it first.
func TestNodeIsToldOfItsMachineOnce(t *testing.T) {
	want := resource.Node{Host: "worker-1", Initial: map[string]string{"zone": "a"}, ProviderID: "x://1"}
	told := node(map[string]string{"zone": "b"})
	told.Spec.ProviderID = "x://1"
	for name, have := range map[string]*corev1.Node{"bare": node(nil), "told by another": told} {
		api, set := nodeClient(have)
		if f := factOf(t, api, want); (f.Digest == want.Digest()) != (have == told) {
			t.Errorf("%s: fact %+v", name, f)
		}
		if err := api.SetNode(t.Context(), want); err != nil {
			t.Fatal(err)
		}
		got, err := set.CoreV1().Nodes().Get(t.Context(), "worker-1", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		zone := "a"
		if have == told {
			zone = "b"
		}
		if got.Labels["zone"] != zone || got.Spec.ProviderID != "x://1" {
			t.Errorf("%s: zone %q, provider id %q", name, got.Labels["zone"], got.Spec.ProviderID)
		}
		if f := factOf(t, api, want); f.Digest != want.Digest() {
			t.Errorf("%s: something is left to do", name)
		}
		later := want
		later.Initial = nil
		if err := api.SetNode(t.Context(), later); err != nil {
			t.Fatal(err)
		}
		if got, err = set.CoreV1().Nodes().Get(t.Context(), "worker-1", metav1.GetOptions{}); err != nil || got.Labels["zone"] != zone {
			t.Errorf("%s: the zone goes when it is not told any more: %v %v", name, got.Labels, err)
		}
	}
}

func TestNodeOfAMachineThatIsGoneIsSeen(t *testing.T) {
	old := node(nil)
	old.Spec.ProviderID = "x://1"
	api, _ := nodeClient(old)
	if f := factOf(t, api, resource.Node{Host: "worker-1", ProviderID: "x://2"}); f.Detail != resource.OtherMachine {
		t.Errorf("fact %+v", f)
	}
	if f := factOf(t, api, resource.Node{Host: "worker-1"}); f.Detail == resource.OtherMachine {
		t.Errorf("a host whose provider says nothing: %+v", f)
	}
}

func TestSetNodeKeepsWhatOthersSetAndLeavesNothingToDo(t *testing.T) {
	want := resource.Node{Host: "worker-1", Labels: map[string]string{"pool": "default"}, Taints: []corev1.Taint{taint("batch", "yes")}}
	foreign := taint("node.kubernetes.io/unschedulable", "")
	for name, have := range map[string]*corev1.Node{
		"bare": node(nil), "others": node(map[string]string{"zone": "a"}, foreign), "old value": node(map[string]string{"pool": "x"}, taint("batch", "no"), foreign),
	} {
		api, set := nodeClient(have)
		if err := api.SetNode(t.Context(), want); err != nil {
			t.Fatal(err)
		}
		if f := factOf(t, api, want); f.Digest != want.Digest() {
			t.Errorf("%s: something is left to do", name)
		}
		got, err := set.CoreV1().Nodes().Get(t.Context(), "worker-1", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if len(have.Spec.Taints) > 0 && !slices.ContainsFunc(got.Spec.Taints, func(g corev1.Taint) bool { return g.MatchTaint(&foreign) }) {
			t.Errorf("%s: the taint of another is gone: %v", name, got.Spec.Taints)
		}
		if have.Labels["zone"] != got.Labels["zone"] {
			t.Errorf("%s: the label of another is gone: %v", name, got.Labels)
		}
		ours := 0
		for _, g := range got.Spec.Taints {
			if g.Key == "batch" {
				ours++
			}
		}
		if ours != 1 {
			t.Errorf("%s: %d taints of ours", name, ours)
		}
	}
}

func TestSetNodeTriesAgainWhenAnotherWroteTheNodeMeanwhile(t *testing.T) {
	api, set := nodeClient(node(nil))
	conflicts := 2
	set.PrependReactor("update", "nodes", func(ktest.Action) (bool, runtime.Object, error) {
		if conflicts == 0 {
			return false, nil, nil
		}
		conflicts--
		return true, nil, apierrors.NewConflict(schema.GroupResource{Resource: "nodes"}, "worker-1", errors.New("changed"))
	})
	want := resource.Node{Host: "worker-1", Labels: map[string]string{"pool": "default"}}
	if err := api.SetNode(t.Context(), want); err != nil || conflicts != 0 {
		t.Errorf("error %v, %d conflicts left", err, conflicts)
	}
	if f := factOf(t, api, want); f.Digest != want.Digest() {
		t.Error("the label is not set")
	}
}

func TestSetNodeOfANodeThatIsNotThereIsAnError(t *testing.T) {
	api, _ := nodeClient()
	if err := api.SetNode(t.Context(), resource.Node{Host: "worker-1"}); !apierrors.IsNotFound(err) {
		t.Errorf("error %v", err)
	}
}

func TestSetNodeTakesAwayWhatTheSpecNoLongerNames(t *testing.T) {
	taint := corev1.Taint{Key: "dedicated", Value: "gpu", Effect: corev1.TaintEffectNoSchedule}
	foreign := corev1.Taint{Key: "node.kubernetes.io/unreachable", Effect: corev1.TaintEffectNoExecute}
	n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-1", Labels: map[string]string{"theirs": "stays"}}, Spec: corev1.NodeSpec{Taints: []corev1.Taint{foreign}}}
	before := resource.Node{Host: "worker-1", Labels: map[string]string{"tier": "front", "zone": "a"}, Taints: []corev1.Taint{taint}}
	after := resource.Node{Host: "worker-1", Labels: map[string]string{"zone": "a"}}
	api := &Client{Interface: fake.NewClientset(&n)}
	if err := api.SetNode(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	live, err := api.CoreV1().Nodes().Get(t.Context(), "worker-1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if f := nodeFact(*live, after); f.Digest == after.Digest() {
		t.Fatalf("a label and a taint that must go are not seen: %+v", f)
	}
	if err := api.SetNode(t.Context(), after); err != nil {
		t.Fatal(err)
	}
	if live, err = api.CoreV1().Nodes().Get(t.Context(), "worker-1", metav1.GetOptions{}); err != nil {
		t.Fatal(err)
	}
	if f := nodeFact(*live, after); f.Digest != after.Digest() {
		t.Errorf("still differs: %+v", live)
	}
	if _, ok := live.Labels["tier"]; ok || live.Labels["theirs"] != "stays" || len(live.Spec.Taints) != 1 || live.Spec.Taints[0].Key != foreign.Key {
		t.Errorf("labels %v, taints %v", live.Labels, live.Spec.Taints)
	}
}
