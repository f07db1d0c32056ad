package local

import (
	"path/filepath"
	"slices"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// container is what differs between the OCI configurations of two hosts.
type container struct {
	hostname   string
	netns      string // path
	cgroupPath string
	dir        string // has the root file system and the disks
}

// disks are directories of a host that are real ones instead of a part of its overlay: overlayfs
// cannot be stacked under containerd's, and databases want the file system itself.
func disks() map[string]string {
	return map[string]string{
		"containerd": "/var/lib/containerd",
		"etcd":       "/var/lib/etcd",
		"kubelet":    "/var/lib/kubelet",
	}
}

// diskPaths gives where the disks are inside a host, sorted.
func diskPaths() []string {
	var paths []string
	for _, p := range disks() {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	return paths
}

// ociConfig makes a host of a container: systemd as process 1 with everything that the caller may
// do, nothing hidden and nothing filtered. It is for clusters that a person runs on their own
// machine; a host is no security boundary. It holds on cgroup v1 and v2 alike, and has no resource
// limits, since setting them needs CAP_SYS_RESOURCE.
func ociConfig(c container, m machine) *specs.Spec {
	return &specs.Spec{
		Version:  specs.Version,
		Hostname: c.hostname,
		Root:     &specs.Root{Path: "rootfs"},
		Process: &specs.Process{
			Args: []string{"/sbin/init"},
			Cwd:  "/",
			// systemd reads the variable: https://systemd.io/CONTAINER_INTERFACE
			Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "container=oci"},
			Capabilities: &specs.LinuxCapabilities{
				Bounding: m.capabilities, Effective: m.capabilities, Permitted: m.capabilities,
			},
		},
		Mounts: ociMounts(c, m),
		Linux: &specs.Linux{
			Namespaces: []specs.LinuxNamespace{
				{Type: specs.PIDNamespace}, {Type: specs.IPCNamespace}, {Type: specs.UTSNamespace},
				{Type: specs.MountNamespace}, {Type: specs.CgroupNamespace},
				{Type: specs.NetworkNamespace, Path: c.netns},
			},
			CgroupsPath:       c.cgroupPath,
			RootfsPropagation: "shared",
			Resources:         &specs.LinuxResources{Devices: []specs.LinuxDeviceCgroup{{Allow: true, Access: "rwm"}}},
		},
	}
}

// ociMounts shares every mount with the mounts below it (rshared): pods with HostToContainer or
// Bidirectional volumes need that. systemd does it at boot on a machine, not in a container, and
// rootfsPropagation covers / alone.
func ociMounts(c container, m machine) []specs.Mount {
	mounts := []specs.Mount{
		{Destination: "/proc", Type: "proc", Source: "proc", Options: []string{"rshared"}},
		{Destination: "/dev", Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "strictatime", "mode=755", "size=65536k", "rshared"}},
		{Destination: "/dev/pts", Type: "devpts", Source: "devpts", Options: []string{"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"}},
		{Destination: "/dev/shm", Type: "tmpfs", Source: "shm", Options: []string{"nosuid", "nodev", "mode=1777", "rshared"}},
		{Destination: "/dev/mqueue", Type: "mqueue", Source: "mqueue", Options: []string{"nosuid", "noexec", "nodev"}},
		{Destination: "/dev/kmsg", Type: "bind", Source: "/dev/kmsg", Options: []string{"bind", "rw"}}, // the kubelet reads it
		{Destination: "/sys", Type: "sysfs", Source: "sysfs", Options: []string{"nosuid", "noexec", "nodev", "rw", "rshared"}},
		{Destination: "/sys/fs/cgroup", Type: "cgroup", Source: "cgroup", Options: []string{"nosuid", "noexec", "nodev", "relatime", "rw", "rshared"}},
		{Destination: "/run", Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "nodev", "strictatime", "mode=755", "rshared"}},
		{Destination: "/tmp", Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "nodev", "strictatime", "mode=1777", "rshared"}},
	}
	if m.modules {
		mounts = append(mounts, specs.Mount{Destination: modulesDir, Type: "bind", Source: modulesDir, Options: []string{"rbind", "ro"}})
	}
	byPath := map[string]string{}
	for name, path := range disks() {
		byPath[path] = name
	}
	for _, path := range diskPaths() {
		mounts = append(mounts, specs.Mount{
			Destination: path, Type: "bind", Source: filepath.Join(c.dir, byPath[path]), Options: []string{"rbind", "rshared", "rw"},
		})
	}
	return mounts
}
