package kube

import (
	"context"
	"fmt"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// FreeAddress gives back the address that the API server keeps for a Service whose creation was cut off. It
// keeps the address before it writes the Service, and clears up what nobody wrote only a minute later at the
// earliest (Kubernetes, pkg/registry/core/service/ipallocator/controller, syncIPAddress); until then it
// refuses the address to the very Service it is kept for. freed is false when o has no such address. That
// another object has it is an error.
func (c *Client) FreeAddress(ctx context.Context, o *unstructured.Unstructured) (freed bool, err error) {
	ip, _, err := unstructured.NestedString(o.Object, "spec", "clusterIP")
	if err != nil || o.GetKind() != "Service" || ip == "" {
		return false, err
	}
	if _, err := c.CoreV1().Services(o.GetNamespace()).Get(ctx, o.GetName(), metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		return false, err
	}
	kept, err := c.NetworkingV1().IPAddresses().Get(ctx, ip, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	own := networkingv1.ParentReference{Resource: "services", Namespace: o.GetNamespace(), Name: o.GetName()}
	if p := kept.Spec.ParentRef; p == nil || *p != own {
		return false, fmt.Errorf("%s has the address %s; give it another one", holder(kept), ip)
	}
	err = c.NetworkingV1().IPAddresses().Delete(ctx, ip, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(kept.UID))})
	if err != nil && !apierrors.IsNotFound(err) {
		return false, err
	}
	return true, nil
}

// holder names what an address is kept for.
func holder(kept *networkingv1.IPAddress) string {
	p := kept.Spec.ParentRef
	if p == nil {
		return "nothing that its IPAddress names"
	}
	return fmt.Sprintf("%s %s/%s", p.Resource, p.Namespace, p.Name)
}
