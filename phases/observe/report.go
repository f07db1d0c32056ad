package observe

import (
	"encoding/json"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"clusterctl/components"
	"clusterctl/components/linux"
)

// capSysResource is CAP_SYS_RESOURCE's bit (capabilities(7), linux/capability.h).
const capSysResource = 24

// Report describes a machine as it was at the moment of the probe.
type Report struct {
	Host         string
	UID          string
	Arch         string // uname -m
	Kernel       string
	Hostname     string
	MachineID    string
	Init         string
	Systemd      int // major version; 0: none
	Container    string
	SysResource  bool
	CgroupV2     bool
	Controllers  []string
	Filesystems  []string
	NFT          string // nft's version, empty when there is none
	Programs     []string
	MemoryKiB    int64
	CPUs         int
	DiskFreeKiB  map[string]int64  // by directory
	Mounts       map[string]string // mount options by directory
	Listening    []int
	Addresses    string
	DHCP         bool
	Inotify      int
	TimeSync     bool
	Offset       time.Duration // host's clock minus ours, at the middle of the probe
	RoundTrip    time.Duration
	ResolvConf   map[string][]string // lines by file
	OS           map[string]string   // os-release
	Swap         []string
	Modules      map[string]string
	Identity     linux.IdentityFile
	IdentityText string
	Foreign      []string // paths that another tool's cluster left

	OSType         string // the kernel's name, "Linux"
	Clock          time.Time
	OffsetError    time.Duration     // Offset may be wrong by as much in either direction
	DiskMount      map[string]string // mount point by directory
	Listeners      map[int]string    // program by port; only of hosts without an identity
	Nets           []Net             // addresses by interface
	InotifyWatches int
	Wildcards      []string // search domains under which a made-up name resolves
	EtcdClusterID  string   // hex, of etcd data that a host without an identity holds
}

// Net is an address of one of the host's interfaces.
type Net struct {
	Interface string
	Prefix    netip.Prefix // the address, not its network, with the network's length
	Dynamic   bool         // leased: by DHCP or router advertisement
}

func (r raw) report(name string, before, after time.Time) Report {
	one := func(key string) string {
		if v := r.values[key]; len(v) > 0 {
			return strings.TrimSpace(v[0])
		}
		return ""
	}
	rep := Report{
		Host: name, UID: one("uid"), Arch: one("arch"), Kernel: one("kernel"), Hostname: one("hostname"), MachineID: one("machineID"),
		Init: one("init"), Container: one("container"), CgroupV2: one("cgroup") == "cgroup2fs",
		Controllers: strings.Fields(one("controllers")), Filesystems: strings.Fields(one("filesystems")), Programs: r.values["program"],
		MemoryKiB: number(one("memoryKiB")), CPUs: int(number(one("cpus"))), Addresses: one("addresses"),
		TimeSync: number(one("timesync")) > 0, ResolvConf: r.resolv, OS: r.os, Swap: r.swap, Modules: r.modules,
		IdentityText: one("identity"), Foreign: r.values["foreign"], DiskFreeKiB: map[string]int64{}, Mounts: map[string]string{},
		RoundTrip: after.Sub(before),
	}
	if words := strings.Fields(one("systemd")); len(words) > 1 {
		rep.Systemd = int(number(words[1]))
	}
	if words := strings.Fields(one("nft")); len(words) > 1 {
		rep.NFT = strings.TrimPrefix(words[1], "v")
	}
	if caps, err := strconv.ParseUint(one("capabilities"), 16, 64); err == nil {
		rep.SysResource = caps&(1<<capSysResource) != 0
	}
	if rep.Container == "none" {
		rep.Container = ""
	}
	rep.DHCP = strings.Contains(rep.Addresses, "dynamic")
	if words := strings.Fields(one("inotify")); len(words) > 0 {
		rep.Inotify = int(number(words[0]))
	}
	for _, line := range r.values["disk"] { // df -P: filesystem blocks used available capacity mountpoint; then our directory
		if f := strings.Fields(line); len(f) >= 7 {
			rep.DiskFreeKiB[f[6]] = number(f[3])
		}
	}
	for _, line := range r.values["mount"] {
		if f := strings.Fields(line); len(f) == 2 {
			rep.Mounts[f[0]] = f[1]
		}
	}
	for _, word := range strings.Fields(one("listening")) {
		if p, err := strconv.ParseUint(word, 16, 16); err == nil {
			rep.Listening = append(rep.Listening, int(p))
		}
	}
	_ = json.Unmarshal([]byte(rep.IdentityText), &rep.Identity) // a broken file leaves it empty: preflight sees the text
	middle := before.Add(after.Sub(before) / 2)
	host := (r.clock[0] + r.clock[len(r.clock)-1]) / 2
	rep.Offset = time.Duration((host - float64(middle.UnixNano())/1e9) * 1e9).Round(time.Millisecond)
	return rep
}

func number(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}

// Facts is what the components' settings depend on.
func (r Report) Facts() components.HostFacts {
	file, _ := r.Resolver()
	return components.HostFacts{CgroupV2: r.CgroupV2, SysResource: r.SysResource, Container: r.Container != "", ResolvConf: file}
}

// Resolver is the resolv.conf that pods may inherit: the first file that names a server which is
// no loopback address. ok is false when there is none.
func (r Report) Resolver() (file string, ok bool) {
	const main, resolved = "/etc/resolv.conf", "/run/systemd/resolve/resolv.conf"
	for _, f := range []string{main, resolved} {
		servers := Servers(r.ResolvConf[f])
		if len(servers) == 0 {
			continue
		}
		loopback := false
		for _, s := range servers {
			loopback = loopback || strings.HasPrefix(s, "127.") || s == "::1"
		}
		if !loopback {
			return f, true
		}
	}
	return main, false
}

// Servers are the name servers of resolv.conf's lines.
func Servers(lines []string) []string { return directive(lines, "nameserver") }

// Search is the search domains of resolv.conf's lines.
func Search(lines []string) []string {
	return append(directive(lines, "search"), directive(lines, "domain")...)
}

func directive(lines []string, word string) []string {
	var out []string
	for _, l := range lines {
		if f := strings.Fields(l); len(f) > 1 && f[0] == word {
			out = append(out, f[1:]...)
		}
	}
	return out
}
