package preflight

import "fmt"

// Need of inotify instances and watches: systemd, kubelet and containerd of one host, and what
// else runs on its kernel.
const (
	hostInstances   = 16
	hostWatches     = 8192
	kernelInstances = 32
	minInstances    = 128
)

// inotify: the limits are the kernel's and for one user, so hosts that are containers on one
// kernel share them. They are not changed without being asked.
func inotify(in Input) []Finding {
	var out []Finding
	containers := 0
	for m := range in.machines() {
		if in.Spec.Spec.Provider.Local != nil && m.container() {
			containers++
			continue
		}
		for _, f := range limit("fs.inotify.max_user_instances", m.report.Inotify, minInstances, 2*minInstances) {
			f.Host = m.host.Name
			out = append(out, f)
		}
	}
	for m := range in.machines() {
		if in.Spec.Spec.Provider.Local == nil || !m.container() {
			continue
		}
		need := containers*hostInstances + kernelInstances
		out = append(out, limit("fs.inotify.max_user_instances", m.report.Inotify, need, max(512, 2*need))...)
		need = containers * hostWatches
		out = append(out, limit("fs.inotify.max_user_watches", m.report.InotifyWatches, need, max(524288, 2*need))...)
		break // one kernel, one finding
	}
	return out
}

// limit finds a kernel setting that is too low; 0 is one that could not be read.
func limit(name string, have, need, better int) []Finding {
	if have == 0 || have >= need {
		return nil
	}
	return warning(fmt.Sprintf("raise it on the machine: sysctl -w %s=%d, and the same in /etc/sysctl.d for the next boot", name, better),
		"%s is %d, about %d are needed: programs would fail with \"too many open files\"", name, have, need)
}
