package observe

import (
	"path"
	"strings"
)

// disks reads size, free space and mount options of the directories that things are installed to. One
// that does not exist yet has those of the nearest that does.
func (r raw) disks(rep *Report) {
	rep.DiskKiB, rep.DiskFreeKiB, rep.DiskMount, rep.Mounts = map[string]int64{}, map[string]int64{}, map[string]string{}, map[string]string{}
	options := mountOptions(r.files["/proc/self/mountinfo"])
	dirs, table := r.sections["dirs"], r.sections["disk"]
	if len(table) != len(dirs)+1 { // df's heading, then one line for each
		return
	}
	all, free, mounts := map[string]int64{}, map[string]int64{}, map[string]string{}
	for i, dir := range dirs {
		// file system, blocks, used, available, capacity, mount point
		if f := strings.Fields(table[i+1]); len(f) >= 6 {
			all[dir], free[dir], mounts[dir] = number(f[1]), number(f[3]), f[5]
		}
	}
	for _, dir := range []string{"/", "/var/lib", "/opt", "/etc", "/usr/local/bin"} {
		near := dir
		for mounts[near] == "" && near != "/" {
			near = path.Dir(near)
		}
		if mount, ok := mounts[near]; ok {
			rep.DiskKiB[dir], rep.DiskFreeKiB[dir], rep.DiskMount[dir], rep.Mounts[dir] = all[near], free[near], mount, options[mount]
		}
	}
}

// mountOptions reads options by mount point (proc(5), mountinfo: the fields 5 and 6). Of those
// mounted one over the other the last counts.
func mountOptions(lines []string) map[string]string {
	out := map[string]string{}
	for _, line := range lines {
		if f := strings.Fields(line); len(f) >= 6 {
			out[f[4]] = f[5]
		}
	}
	return out
}
