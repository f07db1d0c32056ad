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
		prune(fields)
		m, err := ManifestOf(fields)
		if err != nil {
			return nil, fmt.Errorf("marshal %T: %w", o, err)
		}
		out = append(out, m)
	}
	return out, nil
}

// ManifestOf turns the fields of an object, which has its apiVersion, kind and name, into a resource. Its
// status is left out.
func ManifestOf(fields map[string]any) (Manifest, error) {
	delete(fields, "status")
	text, err := json.Marshal(fields)
	return Manifest{Object: &unstructured.Unstructured{Object: fields}, json: text}, err
}

// prune drops null values, and empty maps below metadata and spec that typed zero values leave.
func prune(fields map[string]any) {
	for k, v := range fields {
		switch v := v.(type) {
		case nil:
			delete(fields, k)
		case map[string]any:
			prune(v)
			if len(v) == 0 && (k == "resources" || k == "strategy" || k == "updateStrategy" || k == "status") {
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
	// Initial are labels for a node that has none of that key. Whatever is there later is right.
	Initial map[string]string
	// ProviderID is for a node that has none: it can be set once only. Empty: none is set.
	ProviderID string
}

// OtherMachine is the Detail of a node object whose provider id is another machine's than the host's.
const OtherMachine = "it is of a machine that is gone"

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
	parts = append(append(parts, ""), taints...)
	if len(n.Initial) > 0 || n.ProviderID != "" {
		parts = append(append(parts, "", n.ProviderID), slices.Sorted(maps.Keys(n.Initial))...)
	}
	return SumStrings(parts...)
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
