package cloudcontroller

import (
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"clusterctl/pki"
)

const (
	rbacVersion = "rbac.authorization.k8s.io/v1"
	// Lease is what the controllers elect their leader with (k8s.io/cloud-provider, app/config).
	Lease = "cloud-controller-manager"
)

func rule(group string, resources, verbs []string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: verbs}
}

// rules are what the controllers for nodes and Services ask for (k8s.io/cloud-provider, controllers), and
// the asking who may read metrics. Upstream's role has all verbs on nodes, and rights on volumes, service
// accounts and endpoints, which what runs here does not use.
func rules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		rule("", []string{"nodes"}, []string{"get", "list", "watch", "update", "patch", "delete"}),
		rule("", []string{"nodes/status"}, []string{"patch"}),
		rule("", []string{"services"}, []string{"get", "list", "watch"}),
		rule("", []string{"services/status"}, []string{"patch", "update"}),
		rule("", []string{"events"}, []string{"create", "patch", "update"}),
		rule("authentication.k8s.io", []string{"tokenreviews"}, []string{"create"}),
		rule("authorization.k8s.io", []string{"subjectaccessreviews"}, []string{"create"}),
	}
}

// access binds a subject to the rules, and to the leader's lease.
func access(name string, subject rbacv1.Subject, rules []rbacv1.PolicyRule) []runtime.Object {
	meta, local := metav1.ObjectMeta{Name: name}, metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceSystem}
	ref := func(kind string) rbacv1.RoleRef {
		return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: name}
	}
	kind := func(kind string) metav1.TypeMeta { return metav1.TypeMeta{APIVersion: rbacVersion, Kind: kind} }
	subjects := []rbacv1.Subject{subject}
	held := rule("coordination.k8s.io", []string{"leases"}, []string{"get", "update"})
	held.ResourceNames = []string{Lease}
	return []runtime.Object{
		&rbacv1.ClusterRole{TypeMeta: kind("ClusterRole"), ObjectMeta: meta, Rules: rules},
		&rbacv1.ClusterRoleBinding{TypeMeta: kind("ClusterRoleBinding"), ObjectMeta: meta, RoleRef: ref("ClusterRole"), Subjects: subjects},
		&rbacv1.Role{TypeMeta: kind("Role"), ObjectMeta: local, Rules: []rbacv1.PolicyRule{
			rule("coordination.k8s.io", []string{"leases"}, []string{"create"}), held, // what is made has no name yet
		}},
		&rbacv1.RoleBinding{TypeMeta: kind("RoleBinding"), ObjectMeta: local, RoleRef: ref("Role"), Subjects: subjects},
	}
}

// awsAccess is what the unit's own certificate may do.
func awsAccess() []runtime.Object {
	return access(pki.CloudControllerUser, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "User", Name: pki.CloudControllerUser}, rules())
}
