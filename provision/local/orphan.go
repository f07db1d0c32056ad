package local

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// killOrphans ends the inits of containers that were never started: when runc is killed between
// making a container and starting it, the init waits for the start for ever, and keeps the claim
// on the cluster's directory, which it inherited.
func killOrphans(dir string) {
	for _, pid := range orphanedInits("/proc", dir) {
		_ = unix.Kill(pid, unix.SIGKILL) // it may have ended by itself
	}
}

// orphanedInits finds processes "RUNC init" that hold dir open and whose parent is not RUNC.
func orphanedInits(proc, dir string) []int {
	paths, err := filepath.Glob(filepath.Join(proc, "[0-9]*"))
	if err != nil {
		return nil
	}
	var out []int
	for _, path := range paths {
		args := commandLine(path)
		if len(args) != 2 || args[1] != "init" || !holds(path, dir) {
			continue
		}
		parent := commandLine(filepath.Join(proc, parentOf(path)))
		if pid, err := strconv.Atoi(filepath.Base(path)); err == nil && (len(parent) == 0 || parent[0] != args[0]) {
			out = append(out, pid)
		}
	}
	return out
}

func commandLine(process string) []string {
	data, err := os.ReadFile(filepath.Join(process, "cmdline"))
	if err != nil || len(data) == 0 {
		return nil
	}
	return strings.Split(string(bytes.TrimRight(data, "\x00")), "\x00")
}

func parentOf(process string) string {
	data, err := os.ReadFile(filepath.Join(process, "status"))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(data)) {
		if pid, ok := strings.CutPrefix(line, "PPid:"); ok {
			return strings.TrimSpace(pid)
		}
	}
	return ""
}

// holds tells whether a process has dir open.
func holds(process, dir string) bool {
	fds, err := filepath.Glob(filepath.Join(process, "fd", "*"))
	if err != nil {
		return false
	}
	for _, fd := range fds {
		if target, err := os.Readlink(fd); err == nil && target == dir {
			return true
		}
	}
	return false
}
