package preflight

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"

	"clusterctl/phases/observe"
)

// module makes the check of kernel modules that every spec needs: loaded, built in or loadable.
func module(names ...string) func(machine) []Finding {
	return func(m machine) []Finding {
		var out []Finding
		for _, name := range names {
			if m.report.Modules[name] != observe.ModuleAbsent {
				continue
			}
			remedy := "use a kernel that has it; on cloud images install the full kernel's modules (linux-modules-extra, linux-image-amd64), then reboot"
			if m.container() {
				remedy = "load it on the machine that holds the container: modprobe " + name
			}
			out = append(out, failure(remedy, "the kernel has no module %s", name)...)
		}
		return out
	}
}

func vxlan(m machine) []Finding {
	if m.spec().Network.CNI != "flannel" {
		return nil
	}
	return module("vxlan")(m)
}

// minNFT is what knftables needs (sigs.k8s.io/knftables, README): JSON output as of 1.0.1.
const minNFT = "1.0.1"

func nftables(m machine) []Finding {
	if m.spec().Network.KubeProxy != "nftables" {
		return nil
	}
	const remedy = "install nftables " + minNFT + " or newer, or set spec.network.kubeProxy: iptables"
	out := module("nf_tables")(m)
	have, err := version.ParseGeneric(m.report.NFT)
	switch {
	case m.report.NFT == "":
		return append(failure(remedy, "network.kubeProxy: nftables needs the program nft, and it is missing"), out...)
	case err != nil:
		return append(warning(remedy, "the version of nft cannot be read: %q", m.report.NFT), out...)
	case have.LessThan(version.MustParseGeneric(minNFT)):
		return append(failure(remedy, "nft %s is too old: network.kubeProxy: nftables needs %s or newer", m.report.NFT, minNFT), out...)
	}
	return out
}

// iptables: kube-proxy calls it in its modes iptables and ipvs, flannel for masquerading unless
// services use nftables.
func iptables(m machine) []Finding {
	net := m.spec().Network
	var user string
	switch {
	case net.KubeProxy == "iptables" || net.KubeProxy == "ipvs":
		user = "network.kubeProxy: " + net.KubeProxy
	case net.CNI == "flannel" && net.KubeProxy != "nftables":
		user = "network.cni: flannel"
	}
	if user == "" || slices.Contains(m.report.Programs, "iptables") {
		return nil
	}
	return failure("install iptables", "%s needs the program iptables, and it is missing", user)
}

func ipvs(m machine) []Finding {
	if m.spec().Network.KubeProxy != "ipvs" {
		return nil
	}
	out := module("ip_vs", "ip_vs_rr")(m)
	for i := range out {
		out[i].Remedy = strings.Join([]string{"set spec.network.kubeProxy: nftables", out[i].Remedy}, ", or ")
	}
	if !slices.Contains(m.report.Programs, "ipset") {
		out = append(out, failure("install ipset", "network.kubeProxy: ipvs needs the program ipset, and it is missing")...)
	}
	return out
}
