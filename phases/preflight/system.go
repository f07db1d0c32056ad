package preflight

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
)

// operatingSystem: any Linux may do; the families named here are the ones that are tried.
func operatingSystem(m machine) []Finding {
	if m.report.OSType != "Linux" {
		return failure("use a Linux host with systemd", "the operating system is %s, not Linux", orNone(m.report.OSType))
	}
	family := append(strings.Fields(m.report.OS["ID_LIKE"]), m.report.OS["ID"])
	for _, known := range []string{"debian", "ubuntu", "rhel", "fedora", "centos"} {
		if slices.Contains(family, known) {
			return nil
		}
	}
	name := m.report.OS["PRETTY_NAME"]
	if name == "" {
		name = m.report.OS["ID"]
	}
	if name == "" {
		return warning("check that /etc/os-release is there", "the Linux distribution is not known: /etc/os-release names none")
	}
	return warning("go on if it is known to work; Debian, Ubuntu and the RHEL family are tried", "%s is no distribution that the tool is tried on", name)
}

// architecture: uname -m against what the bundle's programs were built for.
func architecture(m machine) []Finding {
	names := map[string]string{"amd64": "x86_64", "arm64": "aarch64", "386": "i686", "arm": "armv7l"}
	want, ok := names[m.in.Arch]
	if !ok {
		want = m.in.Arch // riscv64, s390x, ppc64le: the kernel's name is Go's
	}
	if want == "" || m.report.Arch == want {
		return nil
	}
	return failure("use hosts of one architecture and a bundle for it: clusterctl bundle build --kubernetes "+m.spec().Kubernetes.Version,
		"the processor is %s, the bundle is for %s", orNone(m.report.Arch), m.in.Arch)
}

// minSystemd is the oldest whose units are tried; Debian 11 has 247, RHEL 9 has 249.
const minSystemd = 245

func systemd(m machine) []Finding {
	switch r := m.report; {
	case r.Init != "systemd":
		return failure("use a host that systemd runs; a container must start it as its first process", "process 1 is %s, not systemd", orNone(r.Init))
	case r.Systemd < minSystemd:
		return failure("upgrade the operating system", "systemd %d is too old: %d or newer is needed", r.Systemd, minSystemd)
	}
	return nil
}

// programs: what the tool's scripts and the kubelet call. Programs that only some specs need have
// checks of their own.
func programs(m machine) []Finding {
	need := []string{"chmod", "chown", "date", "dd", "df", "find", "grep", "ip", "journalctl", "ln", "mkdir", "mount", "mv", "rm", "sed",
		"sha256sum", "stat", "sync", "systemctl", "tr", "umount"}
	if !m.container() {
		need = append(need, "modprobe")
		if m.spec().Host.Swap == "disable" {
			need = append(need, "swapoff")
		}
	}
	need = slices.DeleteFunc(need, func(p string) bool { return slices.Contains(m.report.Programs, p) })
	if len(need) == 0 {
		return nil
	}
	return failure("install them (on Debian: apt-get install coreutils findutils grep iproute2 kmod mount sed util-linux)",
		"programs are missing: %s", strings.Join(need, ", "))
}

// kernelNeed is one line of the table "a feature needs a kernel".
type kernelNeed struct {
	feature string
	wanted  bool
	least   string
	remedy  string
}

func kernelNeeds(m machine) []kernelNeed {
	return []kernelNeed{
		// kube-proxy, pkg/proxy/nftables: refuses older kernels.
		{"network.kubeProxy: nftables", m.spec().Network.KubeProxy == "nftables", "5.13", "set spec.network.kubeProxy: iptables, or upgrade the kernel"},
		// kubeadm's system validator accepts 4.19 and later, and RHEL 8's 4.18.
		{"Kubernetes", true, "4.18", "upgrade the operating system"},
	}
}

func kernel(m machine) []Finding {
	have, err := version.ParseGeneric(m.report.Kernel)
	if err != nil {
		return warning("compare uname -r with the release notes", "the kernel's version %q cannot be read", m.report.Kernel)
	}
	for _, n := range kernelNeeds(m) {
		if n.wanted && have.LessThan(version.MustParseGeneric(n.least)) {
			return failure(n.remedy, "kernel %s is too old: %s needs %s or newer", m.report.Kernel, n.feature, n.least)
		}
	}
	return nil
}
