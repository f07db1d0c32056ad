package preflight

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"clusterctl/components/linux"
	"clusterctl/phases/observe"
	"clusterctl/provision/host"
	"clusterctl/provision/spec"
)

// found is what a case must find: on which host, in which check, how bad, and words of message
// and remedy.
type found struct {
	host, check string
	severity    Severity
	words       []string
}

type checkCase struct {
	name   string
	damage func(*Input)
	want   []found
}

// onW1 breaks one worker's report.
func onW1(edit func(*observe.Report)) func(*Input) { return on("w1", edit) }

func on(name string, edit func(*observe.Report)) func(*Input) {
	return func(in *Input) { change(*in, name, edit) }
}

func w1Error(check string, words ...string) []found {
	return []found{{"w1", check, SeverityError, words}}
}

func w1Warning(check string, words ...string) []found {
	return []found{{"w1", check, SeverityWarning, words}}
}

func runCases(t *testing.T, cases []checkCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			in := good(t)
			c.damage(&in)
			got := Run(in)
			if len(got) != len(c.want) {
				t.Fatalf("findings = %v, want %v", got, c.want)
			}
			for i, w := range c.want {
				compare(t, got[i], w)
			}
		})
	}
}

func compare(t *testing.T, got Finding, want found) {
	t.Helper()
	if got.Host != want.host || got.Check != want.check || got.Severity != want.severity {
		t.Errorf("finding = %+v, want %+v", got, want)
	}
	if got.Remedy == "" {
		t.Errorf("%v has no remedy", got)
	}
	for _, word := range want.words {
		if !strings.Contains(got.String(), word) {
			t.Errorf("finding %q does not say %q", got, word)
		}
	}
}

func TestAccess(t *testing.T) {
	lost := func(name string, err error) func(*Input) {
		return func(in *Input) {
			delete(in.Reports, name)
			in.Errors[name] = fmt.Errorf("observe: %w", err)
		}
	}
	down := &host.UnreachableError{Host: "w1", Addr: "192.0.2.12:22", Err: errors.New("no route to host"), Remedy: "switch it on"}
	sudo := &host.UnreachableError{Host: "w1", Addr: "192.0.2.12:22", Err: fmt.Errorf("sudo needs a password: %w", host.ErrPrivilege), Remedy: "set sudoPassword"}
	fresh := func(in *Input) { in.ClusterUID, in.EtcdClusterID = "", "" }
	runCases(t, []checkCase{
		{"worker away in the first run", func(in *Input) { fresh(in); lost("w1", down)(in) }, w1Error("reachable", "192.0.2.12:22", "no route to host", "switch it on")},
		{"worker away later is left out", lost("w1", down), w1Warning("reachable", "no route to host", "left out of this run")},
		{"control plane away", lost("cp1", down), []found{{"cp1", "reachable", SeverityError, []string{"no route to host", "switch it on", "clusterctl replace", " cp1"}}}},
		{"answer cut short", lost("cp1", errors.New("cp1: the answer was cut short")), []found{{"cp1", "reachable", SeverityError, []string{"cut short"}}}},
		{"nobody asked", func(in *Input) { delete(in.Reports, "cp1") }, []found{{"cp1", "reachable", SeverityError, []string{"not asked"}}}},
		{"sudo wants a password on all hosts at once", func(in *Input) {
			for _, name := range []string{"cp1", "w1", "w2"} {
				lost(name, sudo)(in)
			}
		}, []found{{"cp1", "privilege", SeverityError, []string{"sudo needs a password", "set sudoPassword"}}, {"w1", "privilege", SeverityError, nil}, {"w2", "privilege", SeverityError, nil}}},
		{"not root", onW1(func(r *observe.Report) { r.UID = "1000" }), w1Error("privilege", "uid 1000")},
		{"an API that is down is no host", func(in *Input) { in.Errors[""] = errors.New("ask the API: refused") }, nil},
	})
}

func TestIdentity(t *testing.T) {
	as := func(name string, id linux.IdentityFile) func(*Input) {
		return on(name, func(r *observe.Report) { r.Identity, r.IdentityText = id, "{...}" })
	}
	ours := linux.IdentityFile{Cluster: "dev", UID: "uid-1", Host: "w1", EtcdClusterID: "abc"}
	with := func(edit func(*linux.IdentityFile)) func(*Input) {
		id := ours
		edit(&id)
		return as("w1", id)
	}
	runCases(t, []checkCase{
		{"state lost, hosts alive", func(in *Input) { in.ClusterUID, in.EtcdClusterID = "", ""; as("w1", ours)(in) },
			w1Error("identity", "state is missing", "cluster dev", "uid uid-1", "abc", "restore the state directory (clusters/.clusterctl/dev)")},
		{"another cluster's host", with(func(id *linux.IdentityFile) { id.Cluster, id.UID = "prod", "uid-9" }), w1Error("identity", "another cluster", "prod", "uid-9", "nothing on the host was touched")},
		{"another cluster's host, no state", func(in *Input) {
			in.ClusterUID = ""
			with(func(id *linux.IdentityFile) { id.Cluster, id.UID = "prod", "uid-9" })(in)
		}, w1Error("identity", "prod", "uid-9")},
		{"another cluster of this name", with(func(id *linux.IdentityFile) { id.UID = "uid-9" }), w1Error("identity", "same name", "uid-9", "uid-1")},
		{"another host of ours", with(func(id *linux.IdentityFile) { id.Host = "w2" }), w1Error("identity", "host w2 of cluster dev, not w1")},
		{"another etcd cluster", with(func(id *linux.IdentityFile) { id.EtcdClusterID = "def" }), w1Error("identity", "etcd cluster def", "abc")},
		{"broken file", onW1(func(r *observe.Report) { r.IdentityText = "{" }), w1Error("identity", "/var/lib/clusterctl/identity.json")},
	})
}

func TestForeignData(t *testing.T) {
	holds := func(etcdID string, paths ...string) func(*Input) {
		return onW1(func(r *observe.Report) { r.Foreign, r.EtcdClusterID = paths, etcdID })
	}
	runCases(t, []checkCase{
		{"another cluster's etcd member", holds("cdf818194e3a8c32", "/var/lib/etcd/member"), w1Error("foreign", "/var/lib/etcd/member", "cluster cdf818194e3a8c32", "was not touched")},
		{"our own etcd member without the identity file", holds("abc", "/var/lib/etcd/member"), nil},
		{"kubeadm", holds("", "/etc/kubernetes/manifests/kube-apiserver.yaml"), w1Error("foreign", "kubeadm reset")},
		{"k3s", holds("", "/var/lib/rancher/k3s"), w1Error("foreign", "k3s")},
		{"k0s", holds("", "/var/lib/k0s"), w1Error("foreign", "k0s")},
		{"Docker", holds("", "/usr/lib/systemd/system/containerd.service", "/usr/lib/systemd/system/docker.service"),
			w1Error("runtime", "/usr/lib/systemd/system/docker.service", "containerd.io", "/var/lib/containerd")},
		{"a containerd that was started by hand", holds("", "/run/containerd/containerd.sock"), w1Error("runtime", "/run/containerd/containerd.sock")},
		{"our own containerd", func(in *Input) {
			holds("", "/run/containerd/containerd.sock")(in)
			onW1(func(r *observe.Report) {
				r.Identity, r.IdentityText = linux.IdentityFile{Cluster: "dev", UID: "uid-1", Host: "w1", EtcdClusterID: "abc"}, "{...}"
			})(in)
		}, nil},
	})
}

func TestSystem(t *testing.T) {
	runCases(t, []checkCase{
		{"not Linux", onW1(func(r *observe.Report) { r.OSType = "FreeBSD" }), w1Error("os", "FreeBSD")},
		{"unknown distribution", onW1(func(r *observe.Report) { r.OS = map[string]string{"ID": "void", "PRETTY_NAME": "Void Linux"} }), w1Warning("os", "Void Linux")},
		{"derived distribution", onW1(func(r *observe.Report) { r.OS = map[string]string{"ID": "rocky", "ID_LIKE": "rhel centos fedora"} }), nil},
		{"other processor", onW1(func(r *observe.Report) { r.Arch = "aarch64" }), w1Error("architecture", "aarch64", "amd64")},
		{"same processor by its other name", func(in *Input) { in.Arch = "arm64"; everywhere(*in, func(r *observe.Report) { r.Arch = "aarch64" }) }, nil},
		{"bundle not known", func(in *Input) { in.Arch = ""; everywhere(*in, func(r *observe.Report) { r.Arch = "aarch64" }) }, nil},
		{"no systemd", onW1(func(r *observe.Report) { r.Init, r.Systemd = "runit", 0 }), w1Error("systemd", "runit")},
		{"old systemd", onW1(func(r *observe.Report) { r.Systemd = 244 }), w1Error("systemd", "244", "245")},
		{"oldest systemd", onW1(func(r *observe.Report) { r.Systemd = 245 }), nil},
		{"program missing", onW1(func(r *observe.Report) { r.Programs = r.Programs[:len(r.Programs)-1] }), w1Error("programs", "umount")},
		{"kernel too old for nftables", onW1(func(r *observe.Report) { r.Kernel = "5.4.0-150-generic" }), w1Error("kernel", "5.4.0-150-generic", "nftables", "5.13", "kubeProxy: iptables")},
		{"the same kernel with iptables", func(in *Input) {
			in.Spec.Spec.Network.KubeProxy = "iptables"
			onW1(func(r *observe.Report) { r.Kernel = "5.4.0-150-generic" })(in)
		}, nil},
		{"oldest kernel for nftables", onW1(func(r *observe.Report) { r.Kernel = "5.13.0" }), nil},
		{"kernel of another age", func(in *Input) {
			in.Spec.Spec.Network.KubeProxy = "none"
			onW1(func(r *observe.Report) { r.Kernel = "3.10.0-1160.el7.x86_64" })(in)
		}, w1Error("kernel", "3.10.0", "4.18")},
	})
}

func TestCgroups(t *testing.T) {
	v1 := func(r *observe.Report) { r.CgroupV2 = false }
	at := func(version string, ignore ...string) func(*Input) {
		return func(in *Input) {
			in.Spec.Spec.Kubernetes.Version, in.Spec.Spec.Host.IgnorePreflight = version, ignore
			onW1(v1)(in)
		}
	}
	runCases(t, []checkCase{
		{"v1 is refused from 1.35 on", at("1.35.4"), w1Error("cgroup", "cgroup v1", "1.35.4", "spec.host.ignorePreflight: [cgroup]")},
		{"v1 is accepted before", at("1.34.4"), w1Warning("cgroup", "1.35")},
		{"v1 accepted aloud", at("1.37.2", "cgroup"), w1Warning("cgroup", "1.37.2")},
		{"v1 in a container", onW1(func(r *observe.Report) { v1(r); r.Container = "oci" }), w1Warning("cgroup", "cgroup v1")},
		{"no memory controller", onW1(func(r *observe.Report) { r.Controllers = []string{"cpu", "cpuset", "pids"} }), w1Error("cgroup", "missing: memory", "cgroup_enable=memory")},
	})
}

func TestModulesAndPrograms(t *testing.T) {
	lacks := func(name string) func(*Input) {
		return onW1(func(r *observe.Report) { r.Modules = map[string]string{name: observe.ModuleAbsent} })
	}
	without := func(program string) func(*observe.Report) {
		return func(r *observe.Report) {
			programs := []string{}
			for _, p := range r.Programs {
				if p != program {
					programs = append(programs, p)
				}
			}
			r.Programs = programs
		}
	}
	network := func(cni, proxy string, edit func(*observe.Report)) func(*Input) {
		return func(in *Input) {
			in.Spec.Spec.Network.CNI, in.Spec.Spec.Network.KubeProxy = cni, proxy
			onW1(edit)(in)
		}
	}
	noIPVS := func(r *observe.Report) {
		r.Modules = map[string]string{"ip_vs": observe.ModuleAbsent, "ip_vs_rr": "loadable"}
	}
	runCases(t, []checkCase{
		{"overlay", lacks("overlay"), w1Error("overlay", "overlay")},
		{"bridge filter", lacks("br_netfilter"), w1Error("br_netfilter")},
		{"conntrack", lacks("nf_conntrack"), w1Error("conntrack")},
		{"vxlan", lacks("vxlan"), w1Error("vxlan")},
		{"vxlan in a container", func(in *Input) { lacks("vxlan")(in); onW1(func(r *observe.Report) { r.Container = "oci" })(in) }, w1Error("vxlan", "machine that holds the container", "modprobe vxlan")},
		{"vxlan without flannel", func(in *Input) { in.Spec.Spec.Network.CNI = "none"; lacks("vxlan")(in) }, nil},
		{"no nft", onW1(func(r *observe.Report) { r.NFT = "" }), w1Error("nftables", "nft", "missing")},
		{"old nft", onW1(func(r *observe.Report) { r.NFT = "1.0.0" }), w1Error("nftables", "1.0.0", "1.0.1")},
		{"oldest nft", onW1(func(r *observe.Report) { r.NFT = "1.0.1" }), nil},
		{"no nf_tables", lacks("nf_tables"), w1Error("nftables", "nf_tables")},
		{"no nft needed", network("flannel", "iptables", func(r *observe.Report) { r.NFT = "" }), nil},
		{"iptables mode", network("none", "iptables", without("iptables")), w1Error("iptables", "kubeProxy: iptables")},
		{"flannel beside no proxy", network("flannel", "none", without("iptables")), w1Error("iptables", "cni: flannel")},
		{"flannel beside nftables", network("flannel", "nftables", without("iptables")), nil},
		{"no ip_vs", network("flannel", "ipvs", noIPVS), w1Error("ipvs", "ip_vs", "kubeProxy: nftables")},
		{"no ipset", network("flannel", "ipvs", without("ipset")), w1Error("ipvs", "ipset")},
	})
}

func TestSwap(t *testing.T) {
	has := func(container string, entries ...string) func(*Input) {
		return onW1(func(r *observe.Report) { r.Swap, r.Container = entries, container })
	}
	const active, fstab, zram = "active /dev/sda2 partition 999 0 -2", "fstab UUID=1 none swap sw 0 0", "unit dev-zram0.swap"
	runCases(t, []checkCase{
		{"now and at boot", has("", active, fstab, zram), w1Warning("swap", "now: /dev/sda2;", "next boot: fstab UUID=1 none swap sw 0 0, unit dev-zram0.swap", "nothing to do")},
		{"only at boot", has("", zram), w1Warning("swap", "now: none", "dev-zram0.swap")},
		{"a container cannot switch it off", has("oci", active), w1Error("swap", "/dev/sda2", "spec.host.swap: allow")},
		{"a container's fstab means nothing", has("oci", fstab), nil},
		{"allowed", func(in *Input) { in.Spec.Spec.Host.Swap = "allow"; has("oci", active, fstab)(in) }, nil},
	})
}

func TestCapacity(t *testing.T) {
	onCP := func(edit func(*observe.Report)) func(*Input) { return on("cp1", edit) }
	free := func(kib int64) func(r *observe.Report) {
		return func(r *observe.Report) { r.DiskFreeKiB = map[string]int64{"/var/lib": kib, "/opt": kib} }
	}
	const need = (400*12/10 + 1024) * 1024 // KiB
	pressed := func(kib int64, uid string) func(*Input) {
		return func(in *Input) {
			onW1(func(r *observe.Report) { r.DiskKiB = map[string]int64{"/var/lib": 100 << 20}; free(kib)(r) })(in)
			in.ClusterUID = uid
		}
	}
	runCases(t, []checkCase{
		{"control plane's memory", onCP(func(r *observe.Report) { r.MemoryKiB = 1699 * 1024 }), []found{{"cp1", "memory", SeverityError, []string{"1699 MiB", "1700 MiB"}}}},
		{"control plane's least memory", onCP(func(r *observe.Report) { r.MemoryKiB = 1700 * 1024 }), nil},
		{"worker's memory", onW1(func(r *observe.Report) { r.MemoryKiB = 699 * 1024 }), w1Error("memory", "worker", "700 MiB")},
		{"one processor", onCP(func(r *observe.Report) { r.CPUs = 1 }), []found{{"cp1", "cpus", SeverityWarning, nil}}},
		{"one processor is enough for a worker", onW1(func(r *observe.Report) { r.CPUs = 1 }), nil},
		{"disk full", onW1(free(300 * 1024)), w1Error("disk", "300 MiB free for /opt and /var/lib on /", "1.5 GiB")},
		{"disk just too small", onW1(free(need - 1)), w1Error("disk")},
		{"disk just large enough", onW1(free(need)), nil},
		{"two small disks", onW1(func(r *observe.Report) {
			free(1024)(r)
			r.DiskMount = map[string]string{"/var/lib": "/var", "/opt": "/opt"}
		}), []found{{"w1", "disk", SeverityError, []string{"/opt on /opt"}}, {"w1", "disk", SeverityError, []string{"/var/lib on /var"}}}},
		{"too full for pods", pressed(14<<20, ""), w1Error("disk", "13.6 GiB of 100.0 GiB left on /", "15%", "15.0 GiB", "DiskPressure")},
		{"too full for pods later", pressed(14<<20, "uid"), w1Warning("disk", "14.0 GiB of 100.0 GiB", "DiskPressure")},
		{"just enough for pods", pressed(15<<20, "uid"), nil},
		{"noexec", onW1(func(r *observe.Report) { r.Mounts = map[string]string{"/opt": "rw,nosuid,noexec"} }), w1Error("noexec", "/opt", "noexec")},
		{"read-only", onW1(func(r *observe.Report) { r.Mounts = map[string]string{"/etc": "ro,relatime"} }), w1Error("read-only", "/etc")},
	})
}

func TestClocks(t *testing.T) {
	off := func(d time.Duration) func(*observe.Report) {
		return func(r *observe.Report) { r.Offset, r.Clock = d, now.Add(d) }
	}
	all := func(d time.Duration) func(*Input) {
		return func(in *Input) { everywhere(*in, off(d)) }
	}
	runCases(t, []checkCase{
		{"operator 4 minutes ahead of all hosts", all(-4 * time.Minute), []found{{"", "clock", SeverityWarning, []string{"4m0s behind", "this machine"}}}},
		{"one host 10 minutes behind the others", onW1(off(-10 * time.Minute)), w1Error("clock", "10m0s behind", "other hosts", "timedatectl")},
		{"host in 2012", onW1(func(r *observe.Report) {
			r.Clock = time.Date(2012, 1, 1, 0, 0, 7, 0, time.UTC)
			r.Offset = r.Clock.Sub(now)
		}), w1Error("clock", "2012-01-01", "never set")},
		{"all hosts an hour behind", all(-time.Hour), []found{{"cp1", "clock", SeverityError, []string{"1h0m0s behind"}}, {"w1", "clock", SeverityError, nil}, {"w2", "clock", SeverityError, nil}}},
		{"host 10 seconds ahead", onW1(off(10 * time.Second)), w1Warning("clock", "10s ahead")},
		{"host 1 second ahead", onW1(off(time.Second)), nil},
		{"slow answer is no offset", onW1(func(r *observe.Report) { r.Offset, r.OffsetError = 3*time.Second, 4*time.Second }), nil},
		{"hosts that drift apart both ways", func(in *Input) {
			on("w1", off(20*time.Second))(in)
			on("w2", off(-20*time.Second))(in)
		}, []found{{"w1", "clock", SeverityError, []string{"20s ahead"}}, {"w2", "clock", SeverityError, []string{"20s behind"}}}},
		{"no time service", onW1(func(r *observe.Report) { r.TimeSync = false }), w1Warning("time-sync", "chrony")},
		{"a container has the machine's clock", onW1(func(r *observe.Report) { r.TimeSync, r.Container = false, "oci" }), nil},
	})
}

func TestNames(t *testing.T) {
	runCases(t, []checkCase{
		{"another name", onW1(func(r *observe.Report) { r.Hostname = "ip-192-0-2-12" }), w1Warning("hostname", "ip-192-0-2-12", "w1")},
		{"full name in capitals", onW1(func(r *observe.Report) { r.Hostname = "W1.example.com" }), nil},
		{"one name twice", onW1(func(r *observe.Report) { r.Hostname = "w2" }), []found{
			{"w1", "hostname", SeverityError, []string{"w2", "w1, w2"}}, {"w1", "hostname", SeverityWarning, nil}, {"w2", "hostname", SeverityError, nil}}},
		{"no machine id", onW1(func(r *observe.Report) { r.MachineID = "" }), w1Error("machine-id", "/etc/machine-id")},
		{"machine id of a first boot", onW1(func(r *observe.Report) { r.MachineID = "uninitialized" }), w1Error("machine-id")},
		{"clones", func(in *Input) {
			change(*in, "w1", func(r *observe.Report) { r.MachineID = in.Reports["w2"].MachineID })
		}, []found{
			{"w1", "machine-id", SeverityError, []string{"w1, w2", "systemd-machine-id-setup"}}, {"w2", "machine-id", SeverityError, nil}}},
	})
}

func TestAddress(t *testing.T) {
	moved := func(r *observe.Report) {
		r.Nets = []observe.Net{{Interface: "eth0", Prefix: netip.MustParsePrefix("192.0.2.77/24")}}
		r.Addresses = "eth0 192.0.2.77/24"
	}
	leased := func(r *observe.Report) { r.Nets[0].Dynamic = true }
	runCases(t, []checkCase{
		{"host came back with another address", onW1(func(r *observe.Report) {
			moved(r)
			r.Identity, r.IdentityText = linux.IdentityFile{Cluster: "dev", UID: "uid-1", Host: "w1"}, "{...}"
		}), w1Error("address", "expected 192.0.2.12, has eth0 192.0.2.77/24", "its address back")},
		{"new host behind another address", onW1(moved), w1Error("address", "expected 192.0.2.12", "privateAddress")},
		{"control plane by DHCP", on("cp1", leased), []found{{"cp1", "address", SeverityWarning, []string{"192.0.2.11", "DHCP"}}}},
		{"worker by DHCP", onW1(leased), nil},
		{"unreadable", onW1(func(r *observe.Report) { r.Nets = nil }), w1Warning("address", "ip -o addr")},
	})
}

func TestPorts(t *testing.T) {
	listens := func(ports ...int) func(*observe.Report) {
		return func(r *observe.Report) { r.Listening, r.Listeners = ports, map[int]string{10250: "python3"} }
	}
	runCases(t, []checkCase{
		{"kubelet's port", onW1(listens(22, 10250)), w1Error("ports", "port 10250 is in use by python3", "kubelet needs it")},
		{"API server's port on a control plane", on("cp1", listens(6443)), []found{{"cp1", "ports", SeverityError, []string{"6443", "kube-apiserver"}}}},
		{"API server's port on a worker", onW1(listens(6443)), nil},
		{"no proxy, no port of it", func(in *Input) { in.Spec.Spec.Network.KubeProxy = "none"; onW1(listens(10256))(in) }, nil},
	})
}

func TestResolver(t *testing.T) {
	const file, resolved = "/etc/resolv.conf", "/run/systemd/resolve/resolv.conf"
	conf := func(files map[string][]string) func(*Input) {
		return onW1(func(r *observe.Report) { r.ResolvConf = files })
	}
	lines := func(l ...string) map[string][]string { return map[string][]string{file: l} }
	runCases(t, []checkCase{
		{"stub with the real list beside it", conf(map[string][]string{file: {"nameserver 127.0.0.53", "search ."}, resolved: {"nameserver 192.0.2.53"}}), nil},
		{"stub without another file", conf(lines("nameserver 127.0.0.53")), w1Error("resolver", "127.0.0.53", "loopback", "upstreamDNS")},
		{"IPv6 loopback", conf(lines("nameserver ::1")), w1Error("resolver", "::1")},
		{"stub, but upstream servers are named", func(in *Input) {
			in.Spec.Spec.Network.UpstreamDNS = []string{"192.0.2.53"}
			conf(lines("nameserver ::1"))(in)
		}, nil},
		{"no server", conf(lines("search example.com")), w1Error("resolver", "no name server")},
		{"four servers", conf(lines("nameserver 192.0.2.1", "nameserver 192.0.2.2", "nameserver 192.0.2.3", "nameserver 192.0.2.4")), w1Warning("resolver", "4 name servers", "first 3")},
		{"cluster's domain as search domain", conf(lines("nameserver 192.0.2.1", "search example.com Cluster.Local.")), w1Error("resolver", "cluster.local", "clusterDomain")},
		{"cluster's domain under a search domain", conf(lines("nameserver 192.0.2.1", "search local")), w1Error("resolver", "search domain local")},
		{"inside another cluster", conf(lines("nameserver 192.0.2.1", "search svc.cluster.local")), w1Warning("resolver", "svc.cluster.local")},
		{"not a suffix of labels", conf(lines("nameserver 192.0.2.1", "search ter.local")), nil},
		{"wildcard record", onW1(func(r *observe.Report) { r.Wildcards = []string{"example.com"} }), w1Warning("resolver", "example.com", "made-up name")},
	})
}

func TestInotify(t *testing.T) {
	local := func(instances, watches, hosts int) func(*Input) {
		return func(in *Input) {
			in.Spec.Spec.Provider = spec.Provider{Local: &spec.Local{}}
			template, address := in.Reports["w1"], in.Inventory.Hosts[1].Address
			for i := len(in.Inventory.Hosts); i < hosts; i++ {
				h, r := in.Inventory.Hosts[1], template
				address = address.Next()
				h.Name, h.Address = fmt.Sprintf("x%d", i), address.Next()
				r.Hostname, r.MachineID = h.Name, h.Name
				r.Nets = []observe.Net{{Interface: "eth0", Prefix: netip.PrefixFrom(h.Address, 24)}}
				in.Inventory.Hosts, in.Reports[h.Name] = append(in.Inventory.Hosts, h), r
			}
			everywhere(*in, func(r *observe.Report) { r.Container, r.Inotify, r.InotifyWatches = "oci", instances, watches })
		}
	}
	runCases(t, []checkCase{
		{"eight hosts on one kernel with 128 instances", local(128, 1<<20, 8), []found{{"", "inotify", SeverityWarning,
			[]string{"fs.inotify.max_user_instances is 128", "160", "sysctl -w fs.inotify.max_user_instances=512", "/etc/sysctl.d"}}}},
		{"three hosts on it", local(128, 1<<20, 3), nil},
		{"few watches", local(1024, 8192, 3), []found{{"", "inotify", SeverityWarning, []string{"max_user_watches", "24576"}}}},
		{"a machine of its own", onW1(func(r *observe.Report) { r.Inotify = 64 }), w1Warning("inotify", "64", "128")},
	})
}
