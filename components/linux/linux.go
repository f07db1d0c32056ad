// Package linux is what the operating system of a host needs before anything runs on it: kernel
// modules, kernel settings, swap, names, each for now and for the next boot.
package linux

import (
	"fmt"
	"slices"
	"strings"

	"clusterctl/components"
	"clusterctl/components/resource"
)

// Component is the host's own settings.
type Component struct{}

// Name is the component's name.
func (Component) Name() string { return "os" }

// Resources gives directories, modules, kernel settings and the cluster's identity.
func (Component) Resources(n components.Node) ([]resource.Resource, error) {
	host := n.Host.Name
	identity, err := components.JSON(host, components.IdentityPath, IdentityFile{
		Cluster: n.Spec.Metadata.Name, UID: n.Secrets.ClusterUID(), Host: host, EtcdClusterID: n.Identity.EtcdClusterID,
	})
	if err != nil {
		return nil, err
	}
	out := []resource.Resource{
		resource.Dir{Host: host, Path: components.StampDir, Mode: 0o700, Owner: "root:root"},
		identity,
		resource.Dir{Host: host, Path: components.PKIDir, Mode: 0o700, Owner: "root:root"},
	}
	modules := Modules(n)
	out = append(out, components.Public(host, "/etc/modules-load.d/clusterctl.conf", []byte(strings.Join(modules, "\n")+"\n")))
	for _, m := range modules {
		out = append(out, resource.Module{Host: host, Name: m})
	}
	var text strings.Builder
	for _, s := range Sysctls(n) {
		fmt.Fprintf(&text, "%s = %s\n", s.Name, s.Value)
	}
	out = append(out, components.Public(host, "/etc/sysctl.d/90-clusterctl.conf", []byte(text.String())))
	for _, s := range Sysctls(n) {
		out = append(out, s)
	}
	if n.Spec.Spec.Host.Swap == "disable" {
		out = append(out, resource.Swap{Host: host})
	}
	return out, nil
}

// IdentityFile says on the host which cluster it belongs to. A host that holds another's is
// never touched.
type IdentityFile struct {
	Cluster       string `json:"cluster"`
	UID           string `json:"uid"`
	Host          string `json:"host"`
	EtcdClusterID string `json:"etcdClusterID"`
}

// Modules are the kernel modules that the spec needs.
func Modules(n components.Node) []string {
	out := []string{"overlay", "br_netfilter", "nf_conntrack"}
	if n.Spec.Spec.Network.CNI == "flannel" {
		out = append(out, "vxlan")
	}
	if n.Spec.Spec.Network.KubeProxy == "ipvs" {
		out = append(out, "ip_vs", "ip_vs_rr")
	}
	slices.Sort(out)
	return out
}

// Sysctls are the kernel settings that the spec needs, each private to a network namespace.
func Sysctls(n components.Node) []resource.Sysctl {
	host := n.Host.Name
	out := []resource.Sysctl{
		{Host: host, Name: "net.bridge.bridge-nf-call-iptables", Value: "1"},
		{Host: host, Name: "net.ipv4.ip_forward", Value: "1"},
	}
	if n.Spec.IsIPv6() {
		out = append(out,
			resource.Sysctl{Host: host, Name: "net.bridge.bridge-nf-call-ip6tables", Value: "1"},
			resource.Sysctl{Host: host, Name: "net.ipv6.conf.all.forwarding", Value: "1"})
	}
	return out
}
