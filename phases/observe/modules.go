package observe

import (
	"path"
	"slices"
	"strings"
)

// States of a kernel module.
const (
	ModuleLoaded   = "loaded"   // or built in
	ModuleLoadable = "loadable" // modprobe would load it
	ModuleAbsent   = "absent"
)

// kernelOptions are the modules' names in the kernel's configuration, where they differ.
func kernelOptions() map[string]string {
	return map[string]string{"br_netfilter": "BRIDGE_NETFILTER", "overlay": "OVERLAY_FS"}
}

// moduleStates takes together what /sys/module, modprobe and the kernel's configuration say.
func (r raw) moduleStates() map[string]string {
	out := map[string]string{}
	for _, line := range r.sections["module"] {
		if name, state, ok := strings.Cut(line, " "); ok {
			out[name] = state
		}
	}
	offered := modprobe(r.sections["modprobe"])
	for name, state := range out {
		option, ok := kernelOptions()[name]
		if !ok {
			option = strings.ToUpper(name)
		}
		switch {
		case state != ModuleAbsent:
		case slices.Contains(r.sections["kconfig"], "CONFIG_"+option+"=y"), name == "overlay" && slices.Contains(r.filesystems(), "overlay"):
			out[name] = ModuleLoaded
		case offered[name] != "":
			out[name] = offered[name]
		}
	}
	return out
}

// modprobe reads "builtin overlay" and "insmod /lib/modules/6.1.0/kernel/drivers/net/vxlan.ko.xz",
// the answer of --show-depends (modprobe(8)).
func modprobe(lines []string) map[string]string {
	out := map[string]string{}
	for _, line := range lines {
		f := strings.Fields(line)
		switch {
		case len(f) < 2:
		case f[0] == "builtin":
			out[f[1]] = ModuleLoaded
		case f[0] == "insmod":
			name, _, _ := strings.Cut(path.Base(f[1]), ".")
			out[strings.ReplaceAll(name, "-", "_")] = ModuleLoadable
		}
	}
	return out
}

func (r raw) filesystems() []string {
	var out []string
	for _, line := range r.files["/proc/filesystems"] {
		if f := strings.Fields(line); len(f) > 0 {
			out = append(out, f[len(f)-1])
		}
	}
	return out
}
