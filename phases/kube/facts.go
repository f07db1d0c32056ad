package kube

import (
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/util/retry"

	"clusterctl/components/resource"
)

// Facts asks the API for the facts of manifests and nodes in want, and which nodes are ours. An object is as wanted when
// applying it again would change nothing: the server itself says so, defaults included.
func (c *Client) Facts(ctx context.Context, want []resource.Resource) (resource.Facts, error) {
	found := make([]*resource.Fact, len(want))
	nodes, err := c.nodes(ctx)
	if err != nil {
		return nil, err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(8)
	for i, w := range want {
		switch r := w.(type) {
		case resource.Node:
			if n, ok := nodes[r.Host]; ok {
				found[i] = nodeFact(n, r)
			}
		case resource.Scheduling:
			if n, ok := nodes[r.Host]; ok {
				found[i] = &resource.Fact{Exists: true, Digest: resource.Scheduling{Drained: CordonedByUs(&n)}.Digest(), Detail: "the cordon is ours"}
			}
		case resource.NoPods:
			if _, ok := nodes[r.Node]; !ok {
				fact := resource.Gone()
				found[i] = &fact
			}
		case resource.NoNode:
			if _, ok := nodes[r.Name]; !ok {
				fact := resource.Gone()
				found[i] = &fact
			}
		case resource.Manifest:
			g.Go(func() (err error) {
				found[i], err = c.manifestFact(ctx, r)
				return err
			})
		}
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	facts := resource.Facts{}
	for name, n := range nodes {
		if _, ours := n.Annotations[ownedAnnotation]; ours {
			facts[resource.NoNode{Name: name}.Key()] = resource.Present("")
		}
	}
	for i, f := range found {
		if f != nil {
			facts[want[i].Key()] = *f
		}
	}
	return facts, nil
}

func (c *Client) nodes(ctx context.Context) (map[string]corev1.Node, error) {
	list, err := c.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	out := map[string]corev1.Node{}
	for _, n := range list.Items {
		out[n.Name] = n
	}
	return out, nil
}

func (c *Client) manifestFact(ctx context.Context, m resource.Manifest) (*resource.Fact, error) {
	live, err := c.Get(ctx, m.Object)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	again, err := c.Apply(ctx, m.Object, DryRun)
	if err != nil {
		return nil, err
	}
	if reflect.DeepEqual(essence(live), essence(again)) {
		return &resource.Fact{Exists: true, Digest: m.Digest()}, nil
	}
	return &resource.Fact{Exists: true, Detail: "differs from what is wanted"}, nil
}

// essence is an object without what the server changes by itself.
func essence(o *unstructured.Unstructured) map[string]any {
	o = o.DeepCopy()
	o.SetManagedFields(nil)
	o.SetResourceVersion("")
	o.SetGeneration(0)
	delete(o.Object, "status")
	return o.Object
}

// ownedAnnotation lists on a node what we set there, so that what the spec no longer names is
// taken away, and what others set is not.
const ownedAnnotation = "clusterctl/owned"

// owned is the annotation's value.
type owned struct {
	Labels []string `json:"labels,omitempty"`
	Taints []string `json:"taints,omitempty"` // key:effect
}

func ownedOf(want resource.Node) owned {
	o := owned{Labels: slices.Sorted(maps.Keys(want.Labels))}
	for _, t := range want.Taints {
		o.Taints = append(o.Taints, taintName(t))
	}
	slices.Sort(o.Taints)
	return o
}

func taintName(t corev1.Taint) string { return t.Key + ":" + string(t.Effect) }

// recorded reads what a node's annotation says; a broken one is as good as none.
func recorded(n corev1.Node) owned {
	var o owned
	_ = json.Unmarshal([]byte(n.Annotations[ownedAnnotation]), &o)
	return o
}

func nodeFact(n corev1.Node, want resource.Node) *resource.Fact {
	have := resource.Node{Host: n.Name, Labels: map[string]string{}, Initial: map[string]string{}}
	mine := recorded(n)
	for k, v := range n.Labels {
		if _, ok := want.Labels[k]; ok || slices.Contains(mine.Labels, k) {
			have.Labels[k] = v
		}
	}
	for _, t := range n.Spec.Taints {
		wanted := slices.ContainsFunc(want.Taints, func(w corev1.Taint) bool { return w.MatchTaint(&t) })
		if wanted || slices.Contains(mine.Taints, taintName(t)) {
			t.TimeAdded = nil
			have.Taints = append(have.Taints, t)
		}
	}
	if id := n.Spec.ProviderID; id != "" && want.ProviderID != "" && id != want.ProviderID {
		return &resource.Fact{Exists: true, Detail: resource.OtherMachine}
	}
	for k, v := range want.Initial {
		if _, ok := n.Labels[k]; ok {
			have.Initial[k] = v
		}
	}
	if n.Spec.ProviderID != "" {
		have.ProviderID = want.ProviderID
	}
	return &resource.Fact{Exists: true, Digest: have.Digest(), Detail: "labels or taints differ"}
}

// SetNode sets a node's labels, taints and provider id, takes those away that we set once and the spec no
// longer names, and leaves those that others set.
func (c *Client) SetNode(ctx context.Context, want resource.Node) error {
	record, err := json.Marshal(ownedOf(want))
	if err != nil {
		return err
	}
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		n, err := c.CoreV1().Nodes().Get(ctx, want.Host, metav1.GetOptions{})
		if err != nil {
			return err
		}
		merge(n, want)
		metav1.SetMetaDataAnnotation(&n.ObjectMeta, ownedAnnotation, string(record))
		_, err = c.CoreV1().Nodes().Update(ctx, n, metav1.UpdateOptions{FieldManager: FieldManager})
		return err
	})
}

// RemoveNode deletes a node object; one that is not there is fine. Its pods go with it (Kubernetes,
// "Garbage collection of Pods").
func (c *Client) RemoveNode(ctx context.Context, name string) error {
	err := c.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func merge(n *corev1.Node, want resource.Node) {
	mine := recorded(*n)
	maps.DeleteFunc(n.Labels, func(k, _ string) bool { return slices.Contains(mine.Labels, k) })
	if n.Labels == nil {
		n.Labels = map[string]string{}
	}
	maps.Copy(n.Labels, want.Labels)
	for k, v := range want.Initial {
		if _, ok := n.Labels[k]; !ok {
			n.Labels[k] = v
		}
	}
	if n.Spec.ProviderID == "" {
		n.Spec.ProviderID = want.ProviderID
	}
	n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(have corev1.Taint) bool {
		return slices.Contains(mine.Taints, taintName(have)) || slices.ContainsFunc(want.Taints, func(t corev1.Taint) bool { return have.MatchTaint(&t) })
	})
	n.Spec.Taints = append(n.Spec.Taints, want.Taints...)
}
