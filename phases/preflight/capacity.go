package preflight

import (
	"fmt"
	"slices"
	"strings"
)

// Sizes in bytes.
const (
	mib = 1 << 20
	gib = 1 << 30
)

// Least memory in MiB. kubeadm asks for 1700 on control planes.
const (
	controlPlaneMemory = 1700
	workerMemory       = 700
)

func memory(m machine) []Finding {
	least, role := int64(workerMemory), "a worker"
	if m.controlPlane() {
		least, role = controlPlaneMemory, "a control plane"
	}
	have := m.report.MemoryKiB / 1024
	if have >= least {
		return nil
	}
	return failure("give the host more memory", "%d MiB of memory: %s needs %d MiB", have, role, least)
}

func cpus(m machine) []Finding {
	if !m.controlPlane() || m.report.CPUs >= 2 {
		return nil
	}
	return warning("give the host two processors or more", "%d processor: etcd and the API server on one are slow and may lose their leases", m.report.CPUs)
}

// disk: what is installed, with a fifth more since the old is kept until the new works, and room
// for images, etcd and logs.
func disk(m machine) []Finding {
	need := m.in.Need + m.in.Need/5 + gib
	short := map[string][]string{} // directories by mount point
	var mounts []string
	for _, dir := range []string{"/opt", "/var/lib"} {
		free, ok := m.report.DiskFreeKiB[dir]
		if !ok {
			return warning("look with: df /var/lib /opt", "the free space of %s could not be read", dir)
		}
		if mount := m.report.DiskMount[dir]; free < need/1024 {
			if len(short[mount]) == 0 {
				mounts = append(mounts, mount)
			}
			short[mount] = append(short[mount], dir)
		}
	}
	var out []Finding
	for _, mount := range mounts {
		dirs := short[mount]
		out = append(out, failure("free some space there, or make the file system larger", "%s free for %s on %s: %s are needed",
			size(m.report.DiskFreeKiB[dirs[0]]*1024), strings.Join(dirs, " and "), mount, size(need))...)
	}
	if len(out) == 0 {
		return pressure(m)
	}
	return out
}

// evictionPercent is the free part of its images' file system below which a kubelet reports DiskPressure,
// and then takes no pods (kubelet.config.k8s.io/v1beta1, defaults of evictionHard on Linux).
const evictionPercent = 15

// pressure: kubelets take pods when everything is installed. Where a cluster runs it is installed, and
// work on it goes on.
func pressure(m machine) []Finding {
	all, free, runs := m.report.DiskKiB["/var/lib"]*1024, m.report.DiskFreeKiB["/var/lib"]*1024, m.in.ClusterUID != ""
	if !runs {
		free = max(free-m.in.Need, 0)
	}
	least := all / 100 * evictionPercent
	if free >= least {
		return nil
	}
	find := failure
	if runs {
		find = warning
	}
	return find("free some space there, or make the file system larger", "%s of %s left on %s: below %d%% (%s) the kubelet reports DiskPressure and takes no pods",
		size(free), size(all), m.report.DiskMount["/var/lib"], evictionPercent, size(least))
}

func size(bytes int64) string {
	if bytes < gib {
		return fmt.Sprintf("%d MiB", bytes/mib)
	}
	return fmt.Sprintf("%.1f GiB", float64(bytes)/gib)
}

func noexec(m machine) []Finding {
	const remedy = "mount it without noexec, now and in /etc/fstab"
	return mounted(m, "noexec", remedy, "/opt", "/var/lib")
}

func readOnly(m machine) []Finding {
	const remedy = "mount it writable; a system with a read-only root needs a writable file system there"
	return mounted(m, "ro", remedy, "/etc", "/opt", "/usr/local/bin", "/var/lib")
}

// mounted finds directories on file systems that have a mount option.
func mounted(m machine, option, remedy string, dirs ...string) []Finding {
	var out []Finding
	for _, dir := range dirs {
		if slices.Contains(strings.Split(m.report.Mounts[dir], ","), option) {
			out = append(out, failure(remedy, "%s is on a file system mounted %s (%s)", dir, option, m.report.DiskMount[dir])...)
		}
	}
	return out
}
