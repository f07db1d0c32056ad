package preflight

import (
	"fmt"
	"slices"

	"clusterctl/components"
)

// port is a TCP port that a component listens on.
type port struct {
	number int
	user   string
}

// wantedPorts lists what listens on a host of this role.
func wantedPorts(m machine) []port {
	out := []port{
		{components.BalancerPort, "clusterctl-balancer"}, {components.BalancerHealthPort, "clusterctl-balancer"},
		{components.KubeletPort, "kubelet"}, {components.KubeletHealthPort, "kubelet"},
	}
	if m.controlPlane() {
		out = append(out,
			port{components.APIServerPort, "kube-apiserver"},
			port{components.EtcdClientPort, "etcd"}, port{components.EtcdPeerPort, "etcd"}, port{components.EtcdMetricsPort, "etcd"},
			port{components.ControllerManagerPort, "kube-controller-manager"}, port{components.SchedulerPort, "kube-scheduler"})
	}
	if m.controlPlane() && m.spec().Provider.OwnCloudController() {
		out = append(out, port{components.CloudControllerPort, "aws-cloud-controller-manager"})
	}
	if m.spec().Network.KubeProxy != "none" {
		out = append(out, port{components.KubeProxyHealthPort, "kube-proxy"}, port{components.KubeProxyMetricsPort, "kube-proxy"})
	}
	if m.spec().Network.CNI == "flannel" {
		out = append(out, port{components.FlannelHealthPort, "flanneld"})
	}
	return out
}

// ports: on a host that is ours already the listeners are our own.
func ports(m machine) []Finding {
	if m.ours() {
		return nil
	}
	var out []Finding
	for _, p := range wantedPorts(m) {
		if !slices.Contains(m.report.Listening, p.number) {
			continue
		}
		by := ""
		if program := m.report.Listeners[p.number]; program != "" {
			by = " by " + program
		}
		out = append(out, failure(fmt.Sprintf("stop what listens there; find it with: ss -Hltnp sport = :%d", p.number),
			"port %d is in use%s, and %s needs it", p.number, by, p.user)...)
	}
	return out
}
