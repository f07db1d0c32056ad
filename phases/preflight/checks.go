package preflight

import "slices"

// Checks is the table of all checks, in the order in which findings are shown.
func Checks() []Check {
	return []Check{
		{nameReachable, "the host answers", reachable},
		{namePrivilege, "commands run as root, directly or through sudo", privilege},
		{"identity", "the host belongs to this cluster or to none", perHost(identity)},
		{"foreign", "no other tool's cluster data is on the host", perHost(foreign)},
		{"runtime", "no container runtime of others is in the place of ours", perHost(runtimes)},
		{"os", "the host runs a Linux that the tool is tested on", perHost(operatingSystem)},
		{"architecture", "the bundle's programs run on the host's processor", perHost(architecture)},
		{"systemd", "systemd runs the host and is new enough", perHost(systemd)},
		{"programs", "the programs that the tool calls are installed", perHost(programs)},
		{"kernel", "the kernel has the version that the spec's choices need", perHost(kernel)},
		{"cgroup", "control groups in a version and with the controllers that the kubelet takes", perHost(cgroup)},
		{"overlay", "the kernel has overlay file systems, for containers", perHost(module("overlay"))},
		{"br_netfilter", "the kernel filters bridged packets, for pod networks", perHost(module("br_netfilter"))},
		{"conntrack", "the kernel tracks connections, for services", perHost(module("nf_conntrack"))},
		{"vxlan", "the kernel has VXLAN, for flannel", perHost(vxlan)},
		{"nftables", "nft 1.0.1 or newer and the kernel's nf_tables, for services by nftables", perHost(nftables)},
		{"iptables", "the program iptables, where services or the pod network use it", perHost(iptables)},
		{"ipvs", "the kernel's ip_vs and the program ipset, for services by ipvs", perHost(ipvs)},
		{"swap", "swap can be off, now and after the next boot", perHost(swap)},
		{"memory", "enough memory for the host's role", perHost(memory)},
		{"cpus", "enough processors for the host's role", perHost(cpus)},
		{"disk", "enough free space for programs, images and data", perHost(disk)},
		{"noexec", "programs may run from where they are installed", perHost(noexec)},
		{"read-only", "directories can be written to", perHost(readOnly)},
		{"clock", "clocks agree with each other and with the certificates", clock},
		{"time-sync", "something keeps the clock right", perHost(timeSync)},
		{"hostname", "host names are unique", hostname},
		{"machine-id", "machine ids are there and unique", machineID},
		{"address", "the host has its cluster address, for good", perHost(address)},
		{"ports", "nothing else listens on the cluster's ports", perHost(ports)},
		{"resolver", "name servers that pods may inherit, and harmless search domains", perHost(resolver)},
		{"inotify", "enough inotify instances for kubelets and runtimes", inotify},
	}
}

// elsewhere are the checks of an upgrade, which package upgrade makes of what the cluster says.
var elsewhere = []string{"api", "budgets", "deprecated-apis", "etcd-members", "etcd-space"}

// Ignore turns the findings of checks that spec.host.ignorePreflight names into warnings.
func Ignore(findings []Finding, names []string) []Finding {
	for i, f := range findings {
		if slices.Contains(names, f.Check) {
			findings[i].Severity = SeverityWarning
		}
	}
	return findings
}
