package kubernetes

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeletv1 "k8s.io/kubelet/config/v1beta1"
	"k8s.io/utils/ptr"

	"clusterctl/components"
	"clusterctl/components/containerd"
	"clusterctl/components/resource"
	"clusterctl/pki"
)

// Kubelet runs pods on every host. Its first client certificate is issued by us; later ones by
// the cluster, which the kubelet then keeps in its own directory.
type Kubelet struct{}

// Name is the unit's name without suffix.
func (Kubelet) Name() string { return "kubelet" }

const (
	kubeletConf        = components.KubernetesDir + "/kubelet.conf"
	kubeletConfig      = components.KubernetesDir + "/kubelet-config.yaml"
	kubeletServingCert = components.PKIDir + "/kubelet-serving.pem"
)

// Resources gives kubeconfig, configuration, certificate and the unit.
func (c Kubelet) Resources(n components.Node) ([]resource.Resource, error) {
	host := n.Host.Name
	conf, err := n.KubeconfigFile(host, pki.Kubelet, components.BalancedAPI(), kubeletConf)
	if err != nil {
		return nil, err
	}
	serving, err := n.LeafFile(host, pki.KubeletServing, kubeletServingCert)
	if err != nil {
		return nil, err
	}
	config, err := n.YAML(kubeletConfig, kubeletConfiguration(n))
	if err != nil {
		return nil, err
	}
	reads := []resource.Resource{conf, serving, config, components.Public(host, components.ClusterCAPath, n.Secrets.CA(pki.ClusterCA).CertPEM)}
	binary, link, err := program(n, c.Name())
	if err != nil {
		return nil, err
	}
	unit, err := components.Service{
		Name: c.Name(), Description: "Kubernetes kubelet", Type: "notify",
		After: []string{"network-online.target", "time-sync.target", "containerd.service", "clusterctl-balancer.service"},
		Wants: []string{"network-online.target", "containerd.service"},
		Args:  append([]string{link.Path}, KubeletArgs(n)...),
		// Pods outlive a restart of the kubelet.
		KillMode: "process", Delegate: true, Limits: n.Facts.SysResource, OOMScore: -999,
	}.Resources(host, append([]resource.Resource{binary}, reads...)...)
	return append(append([]resource.Resource{binary, link}, reads...), unit...), err
}

// KubeletArgs is the kubelet's argument vector without the program: only what the configuration
// file cannot say.
func KubeletArgs(n components.Node) []string {
	own := map[string]string{
		"config":            kubeletConfig,
		"kubeconfig":        kubeletConf,
		"hostname-override": n.Host.Name,
		"node-ip":           n.Address(),
		"root-dir":          "/var/lib/kubelet",
		"cert-dir":          "/var/lib/kubelet/pki",
	}
	if n.Spec.Spec.Provider.CloudControlled() {
		own["cloud-provider"] = "external" // the node begins with a taint, which the cloud controller takes off
	}
	if id := n.Host.Place.ProviderID; id != "" {
		own["provider-id"] = id
	}
	return components.Flags(own, n.Spec.Spec.Kubernetes.KubeletArgs)
}

func kubeletConfiguration(n components.Node) kubeletv1.KubeletConfiguration {
	net := n.Spec.Spec.Network
	cfg := kubeletv1.KubeletConfiguration{
		TypeMeta: metav1.TypeMeta{APIVersion: "kubelet.config.k8s.io/v1beta1", Kind: "KubeletConfiguration"},
		Authentication: kubeletv1.KubeletAuthentication{
			Anonymous: kubeletv1.KubeletAnonymousAuthentication{Enabled: ptr.To(false)},
			Webhook:   kubeletv1.KubeletWebhookAuthentication{Enabled: ptr.To(true), CacheTTL: metav1.Duration{Duration: 2 * time.Minute}},
			X509:      kubeletv1.KubeletX509Authentication{ClientCAFile: components.ClusterCAPath},
		},
		Authorization: kubeletv1.KubeletAuthorization{Mode: kubeletv1.KubeletAuthorizationModeWebhook},
		Address:       wildcard(n),
		ClusterDNS:    []string{n.Spec.DNSAddress().String()},
		ClusterDomain: net.ClusterDomain,
		CgroupDriver:  cgroupDriver(n.Facts), FailCgroupV1: ptr.To(n.Facts.CgroupV2),
		ContainerRuntimeEndpoint: "unix://" + containerd.SocketPath,
		TLSCertFile:              kubeletServingCert, TLSPrivateKeyFile: kubeletServingCert,
		RotateCertificates:       true,
		HealthzBindAddress:       "127.0.0.1",
		HealthzPort:              ptr.To[int32](components.KubeletHealthPort),
		ReadOnlyPort:             0,
		ResolverConfig:           ptr.To(n.Facts.ResolvConf),
		SeccompDefault:           ptr.To(true),
		EventRecordQPS:           ptr.To[int32](50),
		MaxParallelImagePulls:    ptr.To[int32](4),
		SerializeImagePulls:      ptr.To(false),
		FailSwapOn:               ptr.To(n.Spec.Spec.Host.Swap == "disable"),
		RegisterWithTaints:       RegistrationTaints(n),
		OOMScoreAdj:              ptr.To[int32](-999),
		EnforceNodeAllocatable:   []string{"pods"},
		MakeIPTablesUtilChains:   ptr.To(net.KubeProxy == "iptables" || net.KubeProxy == "ipvs"),
		NodeLeaseDurationSeconds: 40,
	}
	if !n.Facts.SysResource {
		// Without CAP_SYS_RESOURCE scores cannot be lowered, nor limits of the node's own cgroup set.
		cfg.OOMScoreAdj, cfg.EnforceNodeAllocatable = ptr.To[int32](0), []string{"none"}
	}
	return cfg
}

func cgroupDriver(f components.HostFacts) string {
	if f.CgroupV2 {
		return "systemd"
	}
	return "cgroupfs"
}

// RegistrationTaints are on the node from its first moment, so that no pod slips in before they
// are applied.
func RegistrationTaints(n components.Node) []corev1.Taint {
	var out []corev1.Taint
	for _, t := range n.Host.Taints {
		out = append(out, corev1.Taint{Key: t.Key, Value: t.Value, Effect: corev1.TaintEffect(t.Effect)})
	}
	if n.IsControlPlane() && !*n.Spec.Spec.ControlPlane.Schedulable {
		out = append(out, corev1.Taint{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule})
	}
	return out
}

// NodeLabels are the labels that the node object must carry. The tool sets them, since a kubelet
// may not (NodeRestriction).
func NodeLabels(n components.Node) map[string]string {
	labels := maps.Clone(n.Host.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	if n.IsControlPlane() {
		labels["node-role.kubernetes.io/control-plane"] = ""
		return labels
	}
	labels["node-role.kubernetes.io/worker"] = ""
	labels["clusterctl/pool"] = n.Host.Pool
	return labels
}

// placeLabels say where a machine of a cloud is, for nodes where nobody else said so: a cloud controller
// writes the same on AWS when a node registers, and one of the user's has the word on other clouds.
func placeLabels(n components.Node) map[string]string {
	out := map[string]string{}
	if n.Spec.Spec.Provider.ForeignCloudController() != nil {
		return out
	}
	if zone := n.Host.Place.Zone; zone != "" {
		out[corev1.LabelTopologyZone] = zone
	}
	if region := n.Host.Place.Region; region != "" {
		out[corev1.LabelTopologyRegion] = region
	}
	return out
}

// Node is the labels, taints and provider id of the node object.
func Node(n components.Node) resource.Resource {
	taints := RegistrationTaints(n)
	slices.SortFunc(taints, func(a, b corev1.Taint) int {
		if a.Key < b.Key {
			return -1
		}
		return 1
	})
	return resource.Node{Host: n.Host.Name, Labels: NodeLabels(n), Taints: taints, Initial: placeLabels(n), ProviderID: n.Host.Place.ProviderID}
}
