package resource

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Manifest is an object of the Kubernetes API, applied on the server with our field manager.
type Manifest struct {
	Object *unstructured.Unstructured
	json   []byte
}

func (m Manifest) Key() Key {
	gvk := m.Object.GroupVersionKind()
	return Key{"", KindManifest, strings.Join([]string{gvk.GroupKind().String(), m.Object.GetNamespace(), m.Object.GetName()}, "/")}
}
func (m Manifest) Digest() string { return Sum(m.json) }
func (m Manifest) Title() string {
	if ns := m.Object.GetNamespace(); ns != "" {
		return m.Object.GetKind() + " " + ns + "/" + m.Object.GetName()
	}
	return m.Object.GetKind() + " " + m.Object.GetName()
}
func (Manifest) resource() {}

// Manifests turns typed objects, whose TypeMeta is set, into resources. Empty status and
// timestamps are left out, so that only what we mean is ours.
func Manifests(objects ...runtime.Object) ([]Resource, error) {
	var out []Resource
	for _, o := range objects {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			return nil, fmt.Errorf("convert %T: %w", o, err)
		}
		delete(fields, "status")
		prune(fields)
		text, err := json.Marshal(fields)
		if err != nil {
			return nil, fmt.Errorf("marshal %T: %w", o, err)
		}
		out = append(out, Manifest{Object: &unstructured.Unstructured{Object: fields}, json: text})
	}
	return out, nil
}

// prune drops null values, and empty maps below metadata and spec that typed zero values leave.
func prune(fields map[string]any) {
	for k, v := range fields {
		switch v := v.(type) {
		case nil:
			delete(fields, k)
		case map[string]any:
			prune(v)
			if len(v) == 0 && (k == "resources" || k == "strategy" || k == "status") {
				delete(fields, k)
			}
		case []any:
			for _, e := range v {
				if m, ok := e.(map[string]any); ok {
					prune(m)
				}
			}
		}
	}
}

// Node is the labels and taints that the node object of a host must carry; others are left alone.
type Node struct {
	Host   string
	Labels map[string]string
	Taints []corev1.Taint
}

func (n Node) Key() Key { return Key{"", KindNode, n.Host} }
func (n Node) Digest() string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(n.Labels)) {
		parts = append(parts, k+"="+n.Labels[k])
	}
	taints := []string{}
	for _, t := range n.Taints {
		taints = append(taints, fmt.Sprintf("%s=%s:%s", t.Key, t.Value, t.Effect))
	}
	slices.Sort(taints)
	return SumStrings(append(append(parts, ""), taints...)...)
}
func (n Node) Title() string { return "labels and taints of node " + n.Host }
func (Node) resource()       {}

// Scheduling says whether pods may come to a host's node. It is seen and changed through the API,
// but belongs to the host: its steps stand among the host's own.
type Scheduling struct {
	Host    string
	Drained bool // no pods, and new ones are kept away by us; else we keep none away
}

func (s Scheduling) Key() Key { return Key{s.Host, KindSchedule, s.Host} }
func (s Scheduling) Digest() string {
	if s.Drained {
		return "drained"
	}
	return "open"
}
func (s Scheduling) Title() string { return "node " + s.Host }
func (Scheduling) resource()       {}
