package kube

import (
	"context"
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

// Facts asks the API for the facts of manifests and nodes in want. An object is as wanted when
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

func nodeFact(n corev1.Node, want resource.Node) *resource.Fact {
	have := resource.Node{Host: n.Name, Labels: map[string]string{}}
	for k := range want.Labels {
		if v, ok := n.Labels[k]; ok {
			have.Labels[k] = v
		}
	}
	for _, t := range want.Taints {
		if slices.ContainsFunc(n.Spec.Taints, func(have corev1.Taint) bool { return have.MatchTaint(&t) && have.Value == t.Value }) {
			have.Taints = append(have.Taints, t)
		}
	}
	return &resource.Fact{Exists: true, Digest: have.Digest()}
}

// SetNode sets a node's labels and taints and leaves those that others set.
func (c *Client) SetNode(ctx context.Context, want resource.Node) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		n, err := c.CoreV1().Nodes().Get(ctx, want.Host, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if n.Labels == nil {
			n.Labels = map[string]string{}
		}
		maps.Copy(n.Labels, want.Labels)
		for _, t := range want.Taints {
			n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(have corev1.Taint) bool { return have.MatchTaint(&t) })
			n.Spec.Taints = append(n.Spec.Taints, t)
		}
		_, err = c.CoreV1().Nodes().Update(ctx, n, metav1.UpdateOptions{FieldManager: FieldManager})
		return err
	})
}
