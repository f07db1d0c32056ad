package observe

import (
	"net/netip"
	"os"
	"reflect"
	"slices"
	"testing"
	"time"

	"clusterctl/components/resource"
)

// The answer was recorded on a host of the local provider: Debian 12 in a container, cgroup v1.
func recorded(t testing.TB) string {
	t.Helper()
	out, err := os.ReadFile("testdata/debian12-container.probe")
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestRecordedAnswerIsReadAsReport(t *testing.T) {
	before := time.UnixMilli(1796159401800)
	got := parse(recorded(t)).report("cp-1", before, before.Add(400*time.Millisecond))
	for _, c := range []struct {
		name      string
		got, want any
	}{
		{"uid", got.UID, "0"},
		{"machine", []string{got.OSType, got.Arch, got.Kernel}, []string{"Linux", "x86_64", "6.18.44-fc-v1045"}},
		{"names", []string{got.Hostname, got.MachineID}, []string{"fitness-cp-1", "6530de691c26cfb89b8e3a10a5aa6bd4"}},
		{"init", []any{got.Init, got.Systemd, got.Container}, []any{"systemd", 252, "oci"}},
		{"capability", got.SysResource, false},
		{"cgroups", []any{got.CgroupV2, slices.Contains(got.Controllers, "pids"), slices.Contains(got.Controllers, "cpuset")}, []any{false, true, true}},
		{"overlay", slices.Contains(got.Filesystems, "overlay"), true},
		{"nft", got.NFT, "1.0.6"},
		{"programs", slices.Contains(got.Programs, "sha256sum"), true},
		{"size", []any{got.MemoryKiB, got.CPUs}, []any{int64(24683548), 2}},
		{"disk", []any{got.DiskKiB["/opt"] >= got.DiskFreeKiB["/opt"], got.DiskFreeKiB["/opt"] > 1<<20, got.DiskMount["/opt"], got.Mounts["/var/lib"]}, []any{true, true, "/", "rw,relatime"}},
		{"ports", got.Listening, []int{22}},
		{"listeners", got.Listeners, map[int]string{22: "sshd"}},
		{"addresses", got.Nets, []Net{{"eth0", netip.MustParsePrefix("10.89.119.11/24"), false}}},
		{"addresses as text", got.Addresses, "eth0 10.89.119.11/24"},
		{"inotify", []int{got.Inotify, got.InotifyWatches}, []int{128, 192530}},
		{"resolver", Servers(got.ResolvConf["/etc/resolv.conf"]), []string{"10.255.255.53"}},
		{"os", got.OS["ID"], "debian"},
		{"modules", got.Modules, map[string]string{"overlay": "loaded", "br_netfilter": "loaded", "nf_conntrack": "loaded", "nf_tables": "loaded", "vxlan": "loaded", "ip_vs": "absent"}},
		{"nothing foreign", len(got.Foreign) + len(got.Swap) + len(got.Wildcards) + len(got.IdentityText), 0},
		{"time service", got.TimeSync, false},
		{"clock", got.Clock.Year(), 2026},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("%s = %#v, want %#v", c.name, c.got, c.want)
		}
	}
}

func TestRecordedAnswerIsReadAsFacts(t *testing.T) {
	want := []resource.Resource{
		resource.Dir{Host: "h", Path: "/opt", Mode: 0o755, Owner: "root:root"},
		resource.Dir{Host: "h", Path: "/nowhere", Mode: 0o755, Owner: "root:root"},
		resource.Sysctl{Host: "h", Name: "net.ipv4.ip_forward", Value: "0"},
		resource.Module{Host: "h", Name: "overlay"}, resource.Module{Host: "h", Name: "ip_vs"},
		resource.Swap{Host: "h"},
	}
	facts, unsure := parse(recorded(t)).facts(want)
	if len(unsure) != 0 {
		t.Errorf("unsure = %v", unsure)
	}
	for _, w := range want {
		fact := facts[w.Key()]
		met := fact.Exists && fact.Digest == w.Digest()
		missing := slices.Contains([]string{"/nowhere", "ip_vs"}, w.Key().Name)
		if met == missing {
			t.Errorf("%s: fact = %+v, wanted digest %s", w.Title(), fact, w.Digest())
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(recorded(f))
	f.Add("@\tclock\n1\n@\tclock\n99999999999999999999\n@\tfile\n:\n/proc/meminfo:MemTotal:\n@\tdirs\n/\n@\tdisk\n\n\n@\tunit\n=\n")
	f.Fuzz(func(t *testing.T, out string) {
		r := parse(out)
		rep := r.report("h", time.Unix(1, 0), time.Unix(2, 0))
		rep.Facts()
		if _, err := rep.Clock.MarshalText(); err != nil && len(r.clock) > 0 {
			t.Errorf("clock: %v", err)
		}
		r.facts([]resource.Resource{resource.Swap{Host: "h"}, resource.Dir{Host: "h", Path: "/opt"}, resource.Sysctl{Host: "h", Name: "a.b"}, resource.Module{Host: "h", Name: "x"}})
	})
}
