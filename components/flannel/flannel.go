// Package flannel is the pod network: flanneld as a unit on every host. As a unit it needs no
// image, no running pod and no service network, so it comes up before the first pod.
package flannel

import (
	"encoding/json"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"clusterctl/components"
	"clusterctl/components/resource"
	"clusterctl/pki"
)

// Component is flanneld on every host.
type Component struct{}

// Name is the unit's name without suffix.
func (Component) Name() string { return "flanneld" }

const (
	configPath     = components.KubernetesDir + "/flannel/net-conf.json"
	kubeconfigPath = components.KubernetesDir + "/flannel.conf"
)

// ConflistPath is the CNI configuration; the node is Ready once it is there.
const ConflistPath = components.CNIConfDir + "/10-flannel.conflist"

// Resources gives program, configuration and unit.
func (c Component) Resources(n components.Node) ([]resource.Resource, error) {
	host := n.Host.Name
	program, err := n.Program("flanneld", "flannel", "flanneld")
	if err != nil {
		return nil, err
	}
	kubeconfig, err := n.KubeconfigFile("", pki.Flannel, components.BalancedAPI(), kubeconfigPath)
	if err != nil {
		return nil, err
	}
	config, err := components.JSON(host, configPath, netConf(n))
	if err != nil {
		return nil, err
	}
	unit, err := components.Service{
		Name: c.Name(), Description: "flannel pod network", Type: "notify",
		After: []string{"network-online.target", "clusterctl-balancer.service"}, Wants: []string{"network-online.target"},
		Environment: []string{"NODE_NAME=" + host},
		Args: []string{program.Path, "--kube-subnet-mgr", "--kubeconfig-file=" + kubeconfigPath, "--net-config-path=" + configPath,
			"--iface=" + n.Address(), "--ip-masq", "--healthz-ip=127.0.0.1", "--healthz-port=10241"},
		StartTimeout: 3 * time.Minute, Limits: n.Facts.SysResource, OOMScore: -900,
	}.Resources(host, program, kubeconfig, config)
	return append([]resource.Resource{program, kubeconfig, config}, unit...), err
}

func netConf(n components.Node) map[string]any {
	conf := map[string]any{
		"EnableNFTables": n.Spec.Spec.Network.KubeProxy == "nftables",
		"Backend":        map[string]any{"Type": "vxlan", "Port": components.VXLANPort},
	}
	if n.Spec.IsIPv6() {
		conf["EnableIPv4"], conf["EnableIPv6"], conf["IPv6Network"] = false, true, n.Spec.Spec.Network.PodCIDR
	} else {
		conf["Network"] = n.Spec.Spec.Network.PodCIDR
	}
	return conf
}

// Conflist is the CNI configuration. Version 0.4.0 is the newest that the flannel plugin of
// containernetworking/plugins v0.9.1 knows.
func Conflist(host string) (resource.File, error) {
	text, err := json.MarshalIndent(map[string]any{
		"name": "cbr0", "cniVersion": "0.4.0",
		"plugins": []map[string]any{
			{"type": "flannel", "delegate": map[string]any{"hairpinMode": true, "isDefaultGateway": true}},
			{"type": "portmap", "capabilities": map[string]any{"portMappings": true}},
		},
	}, "", "  ")
	return components.Public(host, ConflistPath, append(text, '\n')), err
}

// Objects gives the access that flanneld needs.
func Objects() ([]resource.Resource, error) {
	return resource.Manifests(
		&rbacv1.ClusterRole{
			TypeMeta: metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole"}, ObjectMeta: metav1.ObjectMeta{Name: pki.FlannelUser},
			Rules: []rbacv1.PolicyRule{
				{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"get", "list", "watch"}},
				{APIGroups: []string{""}, Resources: []string{"nodes/status"}, Verbs: []string{"patch"}},
			},
		},
		&rbacv1.ClusterRoleBinding{
			TypeMeta: metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRoleBinding"}, ObjectMeta: metav1.ObjectMeta{Name: pki.FlannelUser},
			RoleRef:  rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: pki.FlannelUser},
			Subjects: []rbacv1.Subject{{APIGroup: "rbac.authorization.k8s.io", Kind: "User", Name: pki.FlannelUser}},
		},
	)
}
