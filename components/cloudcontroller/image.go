package cloudcontroller

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"clusterctl/components"
	"clusterctl/provision/spec"
)

// foreignName is that of all objects of a controller in an image.
const foreignName = "cloud-controller-manager"

// providerName is what the controllers of a cloud call it.
func providerName(p spec.Provider) string {
	if p.GCP != nil {
		return "gce"
	}
	return "vsphere"
}

// imageObjects runs a controller of the user's on every control plane.
func imageObjects(c *spec.Cluster, foreign *spec.CloudController) []runtime.Object {
	meta := metav1.ObjectMeta{Name: foreignName, Namespace: metav1.NamespaceSystem, Labels: map[string]string{"k8s-app": foreignName}}
	subject := rbacv1.Subject{Kind: "ServiceAccount", Name: foreignName, Namespace: metav1.NamespaceSystem}
	out := []runtime.Object{&corev1.ServiceAccount{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: meta}}
	out = append(out, access("clusterctl:"+foreignName, subject, append(rules(), foreignRules()...))...)
	return append(out, &appsv1.DaemonSet{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"}, ObjectMeta: meta,
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: meta.Labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: meta.Labels}, Spec: foreignPod(c, foreign)},
		},
	})
}

// foreignRules are what controllers of other clouds ask for besides. Secrets are not among it: a controller
// that keeps credentials there comes with a manifest, which says which.
func foreignRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		rule("", []string{"services"}, []string{"update", "patch"}),
		rule("", []string{"endpoints"}, []string{"get", "list", "watch"}),
		rule("discovery.k8s.io", []string{"endpointslices"}, []string{"get", "list", "watch"}),
		rule("", []string{"configmaps"}, []string{"get", "list", "watch"}),
	}
}

// foreignPod has the host's network, since it must run before there is another, and goes to the API server
// of its own host.
func foreignPod(c *spec.Cluster, foreign *spec.CloudController) corev1.PodSpec {
	own := map[string]string{
		"cloud-provider": providerName(c.Spec.Provider), "cluster-name": c.Metadata.Name, "leader-elect": "true", "bind-address": "127.0.0.1",
		"use-service-account-credentials": "false", "authentication-skip-lookup": "true",
	}
	if _, ok := foreign.Args["configure-cloud-routes"]; !ok {
		own["configure-cloud-routes"] = "false"
	}
	return corev1.PodSpec{
		HostNetwork: true, DNSPolicy: corev1.DNSDefault, PriorityClassName: "system-node-critical", ServiceAccountName: foreignName,
		NodeSelector: map[string]string{"node-role.kubernetes.io/control-plane": ""},
		Tolerations: []corev1.Toleration{
			{Key: Uninitialised, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
			{Key: "node-role.kubernetes.io/control-plane", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
			{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
		},
		Containers: []corev1.Container{{
			Name: foreignName, Image: foreign.Image, Args: components.Flags(own, foreign.Args),
			Env: []corev1.EnvVar{
				{Name: "KUBERNETES_SERVICE_HOST", Value: "127.0.0.1"},
				{Name: "KUBERNETES_SERVICE_PORT", Value: "6443"},
			},
			Resources:       corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("64Mi")}},
			SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: ptr.To(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
		}},
	}
}
