package kubernetes

import (
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"clusterctl/components/resource"
	"clusterctl/pki"
)

// Objects gives the access that our own certificates need: API servers to kubelets, kubelets to
// renew their client certificates, and people to administer the cluster. Only the break-glass
// credential works without them.
func Objects() ([]resource.Resource, error) {
	return resource.Manifests(
		binding("clusterctl:apiserver-kubelet-client", "system:kubelet-api-admin", "Group", pki.KubeletClientGroup),
		binding("clusterctl:admins", "cluster-admin", "Group", pki.AdminsGroup),
		// Kubernetes "TLS bootstrapping", "Certificate rotation": nodes may renew their own.
		binding("clusterctl:node-client-renewal", "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient", "Group", "system:nodes"),
	)
}

func binding(name, role, kind, subject string) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRoleBinding"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: "rbac.authorization.k8s.io", Kind: kind, Name: subject}},
	}
}
