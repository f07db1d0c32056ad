package kubernetes

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	componentbasev1 "k8s.io/component-base/config/v1alpha1"
	proxyv1 "k8s.io/kube-proxy/config/v1alpha1"
	"k8s.io/utils/ptr"

	"clusterctl/components"
	"clusterctl/components/resource"
	"clusterctl/pki"
)

// Proxy serves Services on every host, unless the spec says none.
type Proxy struct{}

// Name is the unit's name without suffix.
func (Proxy) Name() string { return "kube-proxy" }

const (
	proxyConf   = components.KubernetesDir + "/kube-proxy.conf"
	proxyConfig = components.KubernetesDir + "/kube-proxy-config.yaml"
)

// Resources gives kubeconfig, configuration and the unit.
func (c Proxy) Resources(n components.Node) ([]resource.Resource, error) {
	if n.Spec.Spec.Network.KubeProxy == "none" {
		return nil, nil
	}
	host := n.Host.Name
	conf, err := n.KubeconfigFile("", pki.KubeProxy, components.BalancedAPI(), proxyConf)
	if err != nil {
		return nil, err
	}
	config, err := n.YAML(proxyConfig, proxyConfiguration(n))
	if err != nil {
		return nil, err
	}
	reads := []resource.Resource{conf, config}
	args := components.Flags(map[string]string{"config": proxyConfig, "hostname-override": host}, n.Spec.Spec.Kubernetes.KubeProxyArgs)
	unit, err := service(n, c.Name(), "exec", args, []string{"clusterctl-balancer.service"}, reads)
	return append(reads, unit...), err
}

func proxyConfiguration(n components.Node) proxyv1.KubeProxyConfiguration {
	net := n.Spec.Spec.Network
	cfg := proxyv1.KubeProxyConfiguration{
		TypeMeta:           metav1.TypeMeta{APIVersion: "kubeproxy.config.k8s.io/v1alpha1", Kind: "KubeProxyConfiguration"},
		ClientConnection:   componentbasev1.ClientConnectionConfiguration{Kubeconfig: proxyConf},
		Mode:               proxyv1.ProxyMode(net.KubeProxy),
		ClusterCIDR:        net.PodCIDR,
		HealthzBindAddress: components.HostPort(wildcard(n), components.KubeProxyHealthPort),
		MetricsBindAddress: components.HostPort("127.0.0.1", components.KubeProxyMetricsPort),
	}
	if n.Facts.Container {
		// A container shares the machine's connection table and may not resize it.
		cfg.Conntrack.MaxPerCore = ptr.To[int32](0)
		cfg.Conntrack.TCPEstablishedTimeout = &metav1.Duration{Duration: 0 * time.Second}
		cfg.Conntrack.TCPCloseWaitTimeout = &metav1.Duration{}
	}
	return cfg
}
