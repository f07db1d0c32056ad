// Package coredns is the cluster's DNS: objects of the Kubernetes API.
package coredns

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"clusterctl/components/release"
	"clusterctl/components/resource"
	"clusterctl/provision/spec"
	"clusterctl/templates"
)

const (
	// Name of the Deployment; the Service is kube-dns, which other software expects.
	Name      = "coredns"
	Namespace = metav1.NamespaceSystem
	service   = "kube-dns"
)

var selector = map[string]string{"k8s-app": service}

// Selector names the pods, as in a list of the API.
const Selector = "k8s-app=" + service

// Objects gives the cluster DNS for a spec whose cluster has so many hosts.
func Objects(c *spec.Cluster, hosts int) ([]resource.Resource, error) {
	corefile, err := Corefile(c)
	if err != nil {
		return nil, err
	}
	access, err := resource.Manifests(access()...)
	if err != nil {
		return nil, err
	}
	workload, err := resource.Manifests(
		&corev1.ConfigMap{TypeMeta: typeMeta("v1", "ConfigMap"), ObjectMeta: meta(Name), Data: map[string]string{"Corefile": corefile}},
		deployment(hosts, resource.Sum([]byte(corefile))),
		budget(),
		dnsService(c),
	)
	return append(access, workload...), err
}

// Corefile is the server's configuration. Names outside the cluster go to the spec's servers or
// to those that the kubelet gives, which are never a loopback stub: no DNS loop.
func Corefile(c *spec.Cluster) (string, error) {
	upstream := "/etc/resolv.conf"
	if len(c.Spec.Network.UpstreamDNS) > 0 {
		upstream = strings.Join(c.Spec.Network.UpstreamDNS, " ")
	}
	text, err := templates.Render("corefile.tmpl", struct{ Domain, Upstream string }{c.Spec.Network.ClusterDomain, upstream})
	return string(text), err
}

func deployment(hosts int, corefileSum string) *appsv1.Deployment {
	return &appsv1.Deployment{
		TypeMeta: typeMeta("apps/v1", "Deployment"), ObjectMeta: meta(Name),
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To(int32(min(hosts, 2))),
			Selector: &metav1.LabelSelector{MatchLabels: selector},
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{
				MaxUnavailable: ptr.To(intstr.FromInt32(1)), MaxSurge: ptr.To(intstr.FromString("25%")),
			}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: selector, Annotations: map[string]string{"clusterctl/corefile": corefileSum}},
				Spec:       podSpec(),
			},
		},
	}
}

func podSpec() corev1.PodSpec {
	return corev1.PodSpec{
		PriorityClassName:  "system-cluster-critical",
		ServiceAccountName: Name,
		DNSPolicy:          corev1.DNSDefault,
		NodeSelector:       map[string]string{corev1.LabelOSStable: "linux"},
		Tolerations: []corev1.Toleration{
			{Key: "CriticalAddonsOnly", Operator: corev1.TolerationOpExists},
			{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule},
		},
		TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway,
			LabelSelector: &metav1.LabelSelector{MatchLabels: selector},
		}},
		Containers: []corev1.Container{container()},
		Volumes: []corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: Name},
		}}}},
	}
}

func container() corev1.Container {
	probe := func(path string, port int32) corev1.ProbeHandler {
		return corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromInt32(port)}}
	}
	return corev1.Container{
		Name: Name, Image: release.CoreDNSImage, ImagePullPolicy: corev1.PullIfNotPresent,
		Args:         []string{"-conf", "/etc/coredns/Corefile"},
		Resources:    resources(),
		VolumeMounts: []corev1.VolumeMount{{Name: "config", MountPath: "/etc/coredns", ReadOnly: true}},
		Ports: []corev1.ContainerPort{
			{Name: "dns", ContainerPort: 53, Protocol: corev1.ProtocolUDP},
			{Name: "dns-tcp", ContainerPort: 53, Protocol: corev1.ProtocolTCP},
			{Name: "metrics", ContainerPort: 9153, Protocol: corev1.ProtocolTCP},
		},
		LivenessProbe:  &corev1.Probe{ProbeHandler: probe("/health", 8080), InitialDelaySeconds: 60, TimeoutSeconds: 5, FailureThreshold: 5, PeriodSeconds: 10, SuccessThreshold: 1},
		ReadinessProbe: &corev1.Probe{ProbeHandler: probe("/ready", 8181), TimeoutSeconds: 1, FailureThreshold: 3, PeriodSeconds: 1, SuccessThreshold: 1},
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: ptr.To(false), ReadOnlyRootFilesystem: ptr.To(true),
			Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"NET_BIND_SERVICE"}, Drop: []corev1.Capability{"ALL"}},
		},
	}
}

func dnsService(c *spec.Cluster) *corev1.Service {
	return &corev1.Service{
		TypeMeta: typeMeta("v1", "Service"), ObjectMeta: meta(service),
		Spec: corev1.ServiceSpec{
			Selector: selector, ClusterIP: c.DNSAddress().String(),
			Ports: []corev1.ServicePort{
				{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP, TargetPort: intstr.FromInt32(53)},
				{Name: "dns-tcp", Port: 53, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(53)},
				{Name: "metrics", Port: 9153, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(9153)},
			},
		},
	}
}

func budget() *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		TypeMeta: typeMeta("policy/v1", "PodDisruptionBudget"), ObjectMeta: meta(Name),
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: ptr.To(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: selector},
		},
	}
}

func typeMeta(version, kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: version, Kind: kind}
}

func meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: Namespace, Labels: map[string]string{
		"k8s-app": service, "kubernetes.io/name": "CoreDNS", "kubernetes.io/cluster-service": "true",
	}}
}
