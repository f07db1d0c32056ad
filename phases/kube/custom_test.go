package kube

import (
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
)

func TestCustomAPIsTellStoredAndServedVersions(t *testing.T) {
	version := func(name string, served bool) any { return map[string]any{"name": name, "served": served} }
	crd := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "backups.example.test"},
		"spec":   map[string]any{"versions": []any{version("v1", true), version("v1beta1", false)}},
		"status": map[string]any{"storedVersions": []any{"v1beta1", "v1"}},
	}}
	dyn := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{definitions: "CustomResourceDefinitionList"}, crd)
	got, err := (&Client{dynamic: dyn}).CustomAPIs(t.Context())
	if want := []CustomAPI{{"backups.example.test", []string{"v1beta1", "v1"}, []string{"v1"}}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, error %v, want %v", got, err, want)
	}
}
