package preflight

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"clusterctl/components/linux"
	"clusterctl/phases/observe"
	"clusterctl/provision/inventory"
	"clusterctl/provision/spec"
)

// now is the host's clock in all tests.
var now = time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)

// good is a cluster of one control plane and two workers on fit machines.
func good(t testing.TB) Input {
	t.Helper()
	s, err := spec.Parse("clusters/dev.yaml", spec.Example("ssh"))
	if err != nil {
		t.Fatal(err)
	}
	in := Input{Spec: s, Reports: map[string]observe.Report{}, Errors: map[string]error{}, Need: 400 << 20, Arch: "amd64", ClusterUID: "uid-1", EtcdClusterID: "abc"}
	for i, name := range []string{"cp1", "w1", "w2"} {
		role := inventory.Worker
		if i == 0 {
			role = inventory.ControlPlane
		}
		address := netip.MustParseAddr(fmt.Sprintf("192.0.2.1%d", i+1))
		in.Inventory.Hosts = append(in.Inventory.Hosts, inventory.Host{Name: name, Role: role, Address: address})
		in.Reports[name] = goodReport(name, address)
	}
	return in
}

// goodReport is a Debian machine that nothing is wrong with.
func goodReport(name string, address netip.Addr) observe.Report {
	return observe.Report{
		Host: name, UID: "0", Arch: "x86_64", OSType: "Linux", Kernel: "6.1.0-39-amd64", Hostname: name, MachineID: strings.Repeat("0", 31) + name[len(name)-1:] + name[:1],
		Init: "systemd", Systemd: 252, SysResource: true, CgroupV2: true, Controllers: []string{"cpuset", "cpu", "io", "memory", "hugetlb", "pids"},
		Filesystems: []string{"ext4", "overlay"}, NFT: "1.0.6", MemoryKiB: 4 << 20, CPUs: 2,
		Programs: []string{"awk", "chmod", "chown", "cp", "date", "dd", "df", "find", "grep", "ip", "iptables", "ipset", "journalctl", "ln", "mkdir", "modprobe",
			"mount", "mv", "nft", "rm", "sed", "sha256sum", "stat", "swapoff", "sync", "systemctl", "tr", "umount"},
		DiskFreeKiB: map[string]int64{"/var/lib": 20 << 20, "/opt": 20 << 20}, DiskMount: map[string]string{"/var/lib": "/", "/opt": "/", "/etc": "/"},
		Mounts:    map[string]string{"/var/lib": "rw,relatime", "/opt": "rw,relatime", "/etc": "rw,relatime"},
		Listening: []int{22}, Nets: []observe.Net{{Interface: "eth0", Prefix: netip.PrefixFrom(address, 24)}}, Addresses: "eth0 " + address.String() + "/24",
		Inotify: 1024, InotifyWatches: 1 << 20, TimeSync: true, Offset: 20 * time.Millisecond, OffsetError: 10 * time.Millisecond, Clock: now,
		ResolvConf: map[string][]string{"/etc/resolv.conf": {"nameserver 192.0.2.53", "search example.com"}},
		OS:         map[string]string{"ID": "debian", "PRETTY_NAME": "Debian GNU/Linux 12 (bookworm)"},
		Modules:    map[string]string{"overlay": "loaded", "br_netfilter": "loadable", "nf_conntrack": "loaded", "vxlan": "loadable", "nf_tables": "loaded"},
	}
}

// change edits one host's report.
func change(in Input, name string, edit func(*observe.Report)) {
	r := in.Reports[name]
	edit(&r)
	in.Reports[name] = r
}

// everywhere edits all hosts' reports.
func everywhere(in Input, edit func(*observe.Report)) {
	for name := range in.Reports {
		change(in, name, edit)
	}
}

func only(t *testing.T, findings []Finding) Finding {
	t.Helper()
	if len(findings) != 1 {
		t.Fatalf("findings = %v, want one", findings)
	}
	return findings[0]
}

func TestFitHostsHaveNoFindings(t *testing.T) {
	in := good(t)
	if got := Run(in); len(got) != 0 {
		t.Errorf("findings of fit hosts = %v", got)
	}
	everywhere(in, func(r *observe.Report) {
		r.Identity = linux.IdentityFile{Cluster: "dev", UID: "uid-1", Host: r.Host, EtcdClusterID: "abc"}
		r.IdentityText = "{}"
		r.Listening = []int{22, 6443, 2379, 10250, 7443}
		r.Foreign = []string{"/var/lib/etcd/member", "/etc/kubernetes/kubelet.conf"}
	})
	if got := Run(in); len(got) != 0 {
		t.Errorf("findings of fit hosts that are ours already = %v", got)
	}
	if err := Verdict(nil); err != nil {
		t.Errorf("Verdict(nil) = %v", err)
	}
}

func TestFindingsAreOrderedByHostThenCheck(t *testing.T) {
	in := good(t)
	in.Spec.Spec.Host.IgnorePreflight = []string{"nonsense"}
	everywhere(in, func(r *observe.Report) { r.Init, r.UID = "sh", "1000" })
	var got []string
	for _, f := range Run(in) {
		got = append(got, f.Host+" "+f.Check)
	}
	want := []string{" ignorePreflight", "cp1 privilege", "cp1 systemd", "w1 privilege", "w1 systemd", "w2 privilege", "w2 systemd"}
	if !slices.Equal(got, want) {
		t.Errorf("findings = %q, want %q", got, want)
	}
}

func TestNamedCheckIsDemotedToWarning(t *testing.T) {
	in := good(t)
	in.Spec.Spec.Host.IgnorePreflight = []string{"memory"}
	change(in, "w1", func(r *observe.Report) { r.MemoryKiB, r.Init = 1000, "sh" })
	findings := Run(in)
	if len(findings) != 2 || findings[0].Check != "systemd" || findings[0].Severity != SeverityError || findings[1].Severity != SeverityWarning {
		t.Errorf("findings = %v, want systemd as error and memory as warning", findings)
	}
	in.Spec.Spec.Host.IgnorePreflight = []string{"memory", "systemd"}
	if err := Verdict(Run(in)); err != nil {
		t.Errorf("verdict with all findings demoted = %v", err)
	}
}

func TestUnknownCheckNameIsAnErrorThatNamesTheKnown(t *testing.T) {
	in := good(t)
	in.Spec.Spec.Host.IgnorePreflight = []string{"swapp"}
	f := only(t, Run(in))
	if f.Severity != SeverityError || !strings.Contains(f.Message, `"swapp"`) || !strings.Contains(f.Remedy, "swap,") {
		t.Errorf("finding = %v", f)
	}
}

func TestChecksHaveNamesAndDocs(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Checks() {
		if c.Name == "" || c.Doc == "" || c.Run == nil || seen[c.Name] {
			t.Errorf("check %q: name, doc and function are needed, and the name once", c.Name)
		}
		seen[c.Name] = true
	}
}

// No check may trip over a report with nothing in it: a strange host answers strange things.
func TestEmptyReportsAreJudged(t *testing.T) {
	in := good(t)
	for name := range maps.Clone(in.Reports) {
		in.Reports[name] = observe.Report{}
	}
	if err := Verdict(Run(in)); err == nil {
		t.Error("hosts that told nothing pass")
	}
	in.Inventory.Hosts = nil
	if got := Run(in); len(got) != 0 {
		t.Errorf("findings without hosts = %v", got)
	}
}
