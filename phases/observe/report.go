package observe

import (
	"encoding/json"
	"math"
	"net/netip"
	"slices"
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
	DiskKiB      map[string]int64  // size of the file system, by directory
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
	Running      map[string]string // by unit of ours, without suffix: version of the program that runs
	Emulating    map[string]string // of those, the minor versions that are emulated, such as 1.36
	Foreign      []string          // paths that another tool's cluster left

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

// report is the machine's description; before and after are our clock around the probe.
func (r raw) report(name string, before, after time.Time) Report {
	rep := Report{
		Host: name, Kernel: r.first("/proc/sys/kernel/osrelease"), OSType: r.first("/proc/sys/kernel/ostype"),
		Hostname: r.first("/proc/sys/kernel/hostname"), MachineID: r.first("/etc/machine-id"), Init: r.first("/proc/1/comm"),
		Arch: r.section("arch"), Container: r.container(), Filesystems: r.filesystems(), Programs: r.sections["program"],
		Inotify:        int(number(r.first("/proc/sys/fs/inotify/max_user_instances"))),
		InotifyWatches: int(number(r.first("/proc/sys/fs/inotify/max_user_watches"))),
		TimeSync:       r.timeSync(), Wildcards: r.sections["wildcard"], OS: r.osRelease(), Swap: r.swap, Modules: r.modules,
		ResolvConf:   map[string][]string{},
		IdentityText: strings.Join(r.files[components.IdentityPath], "\n"), Foreign: r.sections["foreign"], EtcdClusterID: walCluster(r.sections["wal"]),
	}
	if words := strings.Fields(r.section("systemd")); len(words) > 1 {
		rep.Systemd = int(number(words[1]))
	}
	if words := strings.Fields(r.section("nft")); len(words) > 1 {
		rep.NFT = strings.TrimPrefix(words[1], "v")
	}
	for _, f := range []string{mainResolvConf, resolvedResolvConf} {
		if lines, ok := r.files[f]; ok {
			rep.ResolvConf[f] = lines
		}
	}
	rep.Running, rep.Emulating = r.runningVersions()
	_ = json.Unmarshal([]byte(rep.IdentityText), &rep.Identity) // a broken file leaves it empty: preflight sees the text
	r.limits(&rep)
	r.cgroups(&rep)
	r.disks(&rep)
	r.network(&rep)
	r.clocks(&rep, before, after)
	return rep
}

// section is the first line of a section, or nothing.
func (r raw) section(name string) string {
	if lines := r.sections[name]; len(lines) > 0 {
		return strings.TrimSpace(lines[0])
	}
	return ""
}

// container is the container manager's name; empty for machines. Systemd writes down what its own
// manager called itself (sd_id128 container interface, /run/systemd/container).
func (r raw) container() string {
	if lines, ok := r.files["/run/systemd/container"]; ok {
		return strings.TrimSpace(strings.Join(lines, " "))
	}
	if c := r.section("container"); c != "none" {
		return c
	}
	return ""
}

func (r raw) timeSync() bool {
	for _, name := range []string{"systemd-timesyncd", "chrony", "chronyd", "ntp", "ntpd", "ntpsec", "openntpd"} {
		if r.units[name+".service"]["ActiveState"] == "active" {
			return true
		}
	}
	return false
}

// osRelease reads os-release(5).
func (r raw) osRelease() map[string]string {
	out := map[string]string{}
	for _, line := range r.files["/etc/os-release"] {
		if name, value, ok := strings.Cut(line, "="); ok {
			out[name] = strings.Trim(value, `"'`)
		}
	}
	return out
}

// limits reads what the probe's own process may use: user, capabilities, processors, memory.
func (r raw) limits(rep *Report) {
	for _, line := range r.files["/proc/self/status"] {
		name, value, _ := strings.Cut(line, ":")
		f := strings.Fields(value)
		if len(f) == 0 {
			continue
		}
		switch name {
		case "Uid": // real, effective, saved, file system
			rep.UID = f[min(1, len(f)-1)]
		case "CapBnd":
			caps, err := strconv.ParseUint(f[0], 16, 64)
			rep.SysResource = err == nil && caps&(1<<capSysResource) != 0
		case "Cpus_allowed_list":
			rep.CPUs = countList(f[0])
		}
	}
	if f := strings.Fields(r.first("/proc/meminfo")); len(f) > 1 && f[0] == "MemTotal:" {
		rep.MemoryKiB = number(f[1])
	}
}

// countList counts the members of a list such as 0-3,8 (cpuset(7), list format).
func countList(list string) int {
	n := 0
	for part := range strings.SplitSeq(list, ",") {
		low, high, isRange := strings.Cut(part, "-")
		if !isRange {
			high = low
		}
		from, err := strconv.ParseUint(low, 10, 16)
		to, toErr := strconv.ParseUint(high, 10, 16)
		if err == nil && toErr == nil && to >= from {
			n += int(to - from + 1)
		}
	}
	return n
}

// cgroups: with version 1 a controller must be compiled in, switched on and mounted.
func (r raw) cgroups(rep *Report) {
	const unified = "/sys/fs/cgroup/cgroup.controllers"
	if _, rep.CgroupV2 = r.files[unified]; rep.CgroupV2 {
		rep.Controllers = strings.Fields(r.first(unified))
		return
	}
	for _, line := range r.files["/proc/cgroups"] {
		f := strings.Fields(line)
		if len(f) == 4 && f[3] == "1" && slices.Contains(r.sections["cgroup1"], f[0]) {
			rep.Controllers = append(rep.Controllers, f[0])
		}
	}
}

// clocks compares the host's clock with ours. At the first reading we were past before, at the
// last one not yet past after: the offset lies between, whatever the way there took.
func (r raw) clocks(rep *Report, before, after time.Time) {
	if len(r.clock) == 0 {
		return
	}
	first, last := hostTime(r.clock[0]), hostTime(r.clock[len(r.clock)-1])
	most, least := first.Sub(before), last.Sub(after)
	rep.Clock = last
	rep.RoundTrip = after.Sub(before)
	rep.Offset = (least + (most-least)/2).Round(time.Millisecond)
	rep.OffsetError = max(0, (most-least)/2)
}

func hostTime(seconds float64) time.Time {
	whole, part := math.Modf(seconds)
	return time.Unix(int64(whole), int64(part*1e9))
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

// runningVersions reads from the command lines of our units' processes which program they run:
// its path names the version, and an argument the minor version that it emulates.
func (r raw) runningVersions() (running, emulating map[string]string) {
	running, emulating = map[string]string{}, map[string]string{}
	for name, unit := range r.units {
		name = strings.TrimSuffix(name, ".service")
		args := strings.Split(r.first("/proc/"+unit["MainPID"]+"/cmdline"), "\x00")
		path, ours := strings.CutPrefix(args[0], components.InstallDir+"/")
		f := strings.Split(path, "/")
		if !ours || len(f) != 3 {
			continue
		}
		running[name] = f[1]
		for _, arg := range args {
			if v, ok := strings.CutPrefix(arg, "--emulated-version="); ok {
				emulating[name] = v
			}
		}
	}
	return running, emulating
}
