package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// cgroupRoot is where cgroups are on every machine that systemd knows.
const cgroupRoot = "/sys/fs/cgroup"

// cgroupName is a cluster's or (with a host) a host's cgroup, the same in every hierarchy.
func cgroupName(cluster string, host ...string) string {
	return filepath.Join(append([]string{"/clusterctl", cluster}, host...)...)
}

// cgroupDirs gives the directories of a cgroup that are there: one on v2, one for every
// controller on v1.
func cgroupDirs(name string) ([]string, error) {
	mounts, err := mountinfo.GetMounts(mountinfo.FSTypeFilter("cgroup", "cgroup2"))
	if err != nil {
		return nil, fmt.Errorf("look for cgroups: %w", err)
	}
	var dirs []string
	for _, m := range mounts {
		if d := filepath.Join(m.Mountpoint, name); isDir(d) && !slices.Contains(dirs, d) {
			dirs = append(dirs, d)
		}
	}
	return dirs, nil
}

// killCgroup kills every process in a cgroup and below, and returns when none is left. Killing
// a host's init takes the rest of its PID namespace with it; this also finds what runc left half
// made.
func killCgroup(ctx context.Context, name string) error {
	err := poll(ctx, func() (bool, error) {
		pids, err := cgroupProcesses(name)
		if len(pids) > 0 {
			err = errors.Join(err, thaw(name))
		}
		for _, pid := range pids {
			if err := unix.Kill(pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
				return false, fmt.Errorf("kill process %d: %w", pid, err)
			}
		}
		return len(pids) == 0, err
	})
	if err != nil {
		return fmt.Errorf("end the processes of cgroup %s: %w", name, err)
	}
	return nil
}

// thaw lets frozen processes of cgroup v1 go on: until then not even SIGKILL reaches them
// (Documentation/admin-guide/cgroup-v1/freezer-subsystem.rst). On v2 it does.
func thaw(name string) error {
	dirs, err := cgroupTree(name)
	for _, d := range dirs {
		f, e := os.OpenFile(filepath.Join(d, "freezer.state"), os.O_WRONLY, 0)
		if errors.Is(e, fs.ErrNotExist) {
			continue // not of the freezer's hierarchy
		}
		if e == nil {
			_, e = f.WriteString("THAWED")
			e = errors.Join(e, f.Close())
		}
		if e != nil {
			err = errors.Join(err, fmt.Errorf("thaw: %w", e))
		}
	}
	return err
}

// cgroupProcesses gives the processes in a cgroup and below, in any hierarchy.
func cgroupProcesses(name string) ([]int, error) {
	dirs, err := cgroupTree(name)
	var pids []int
	for _, d := range dirs {
		data, err := os.ReadFile(filepath.Join(d, "cgroup.procs"))
		if err != nil {
			continue // it ended meanwhile, or is threaded: then its parent lists the processes
		}
		for _, f := range strings.Fields(string(data)) {
			if pid, err := strconv.Atoi(f); err == nil && pid > 0 && !slices.Contains(pids, pid) {
				pids = append(pids, pid)
			}
		}
	}
	return pids, err
}

// cgroupTree gives a cgroup's directories and all below, the deepest first.
func cgroupTree(name string) ([]string, error) {
	tops, err := cgroupDirs(name)
	var dirs []string
	for _, top := range tops {
		err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err == nil && d.IsDir() {
				dirs = append(dirs, path)
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("list cgroup %s: %w", name, err)
		}
	}
	slices.Reverse(dirs) // WalkDir lists a directory before what is in it
	return dirs, err
}

// removeCgroup removes a cgroup and all below from every hierarchy. The kernel may need a moment
// after the last process has gone.
func removeCgroup(ctx context.Context, name string) error {
	var last error
	err := poll(ctx, func() (bool, error) {
		dirs, err := cgroupTree(name)
		if err != nil {
			return false, err
		}
		last = nil
		for _, d := range dirs {
			if err := os.Remove(d); err != nil && !errors.Is(err, fs.ErrNotExist) {
				last = err
			}
		}
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("remove cgroup %s: %w", name, errors.Join(err, last))
	}
	return nil
}
