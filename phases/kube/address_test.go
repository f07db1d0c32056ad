package kube

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestAnAddressIsFreedOnlyForTheServiceItWasKeptFor(t *testing.T) {
	const ip = "10.96.0.10"
	kept := func(name string) *networkingv1.IPAddress {
		return &networkingv1.IPAddress{ObjectMeta: metav1.ObjectMeta{Name: ip, UID: "1"}, Spec: networkingv1.IPAddressSpec{
			ParentRef: &networkingv1.ParentReference{Resource: "services", Namespace: "kube-system", Name: name}}}
	}
	service := func(spec object) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: object{"apiVersion": "v1", "kind": "Service", "metadata": object{"namespace": "kube-system", "name": "kube-dns"}, "spec": spec}}
	}
	dns := service(object{"clusterIP": ip})
	there := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kube-dns"}}
	for name, c := range map[string]struct {
		want  *unstructured.Unstructured
		have  []runtime.Object
		freed bool
		gone  bool
		err   string
	}{
		"cut off":            {want: dns, have: []runtime.Object{kept("kube-dns")}, freed: true, gone: true},
		"the Service is":     {want: dns, have: []runtime.Object{kept("kube-dns"), there}},
		"another's":          {want: dns, have: []runtime.Object{kept("other")}, err: "services kube-system/other has the address 10.96.0.10"},
		"nobody's":           {want: dns, gone: true},
		"any address":        {want: service(object{}), have: []runtime.Object{kept("kube-dns")}},
		"not even a Service": {want: configMap(t, "a").Object, have: []runtime.Object{kept("kube-dns")}},
	} {
		api, set := nodeClient(c.have...)
		freed, err := api.FreeAddress(t.Context(), c.want)
		if freed != c.freed || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: freed %v, error %v", name, freed, err)
		}
		if _, err := set.NetworkingV1().IPAddresses().Get(t.Context(), ip, metav1.GetOptions{}); apierrors.IsNotFound(err) != c.gone {
			t.Errorf("%s: the address is still kept: %v", name, err)
		}
	}
}
