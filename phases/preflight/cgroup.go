package preflight

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
)

// refusesV1 is the first Kubernetes whose kubelet does not start on cgroup v1 unless it is told to
// (failCgroupV1, KEP-4569).
const refusesV1 = "1.35"

// cgroup: version 1 must be accepted aloud on machines; a container cannot choose.
func cgroup(m machine) []Finding {
	return append(cgroupVersion(m), cgroupControllers(m)...)
}

func cgroupVersion(m machine) []Finding {
	if m.report.CgroupV2 {
		return nil
	}
	kubernetes := m.spec().Kubernetes.Version
	if m.container() {
		return warning("nothing to do for a try; production hosts should use cgroup v2", "cgroup v1: the kubelet is told to accept it")
	}
	have, err := version.ParseGeneric(kubernetes)
	if err == nil && have.LessThan(version.MustParseGeneric(refusesV1)) {
		return warning("boot with systemd.unified_cgroup_hierarchy=1 before Kubernetes "+refusesV1, "cgroup v1 is used, which Kubernetes %s no longer accepts", refusesV1)
	}
	return failure("boot the host with systemd.unified_cgroup_hierarchy=1, or accept v1 with "+ignoreField+": [cgroup]",
		"cgroup v1 is used, and the kubelet of Kubernetes %s refuses it", kubernetes)
}

func cgroupControllers(m machine) []Finding {
	missing := slices.DeleteFunc([]string{"cpu", "cpuset", "memory", "pids"}, func(c string) bool { return slices.Contains(m.report.Controllers, c) })
	if len(missing) == 0 {
		return nil
	}
	remedy := "switch them on at boot; for memory: cgroup_enable=memory on the kernel's command line"
	if m.container() {
		remedy = "give the container these controllers"
	}
	return failure(remedy, "cgroup controllers are missing: %s", strings.Join(missing, ", "))
}
