package kube

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// CustomAPI is a CustomResourceDefinition: the versions in which its objects may be stored, and those
// that are served.
type CustomAPI struct {
	Name           string
	Stored, Served []string
}

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// CustomAPIs lists the definitions.
func (c *Client) CustomAPIs(ctx context.Context) ([]CustomAPI, error) {
	list, err := c.dynamic.Resource(definitions).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list custom resource definitions: %w", err)
	}
	var out []CustomAPI
	for _, o := range list.Items {
		a := CustomAPI{Name: o.GetName()}
		a.Stored, _, _ = unstructured.NestedStringSlice(o.Object, "status", "storedVersions")
		versions, _, _ := unstructured.NestedSlice(o.Object, "spec", "versions")
		for _, v := range versions {
			if fields, ok := v.(map[string]any); ok && fields["served"] == true {
				a.Served = append(a.Served, fmt.Sprint(fields["name"]))
			}
		}
		out = append(out, a)
	}
	return out, nil
}
