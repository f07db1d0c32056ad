//go:build e2e

package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/moby/sys/mountinfo"
)

func downLeavesNothing(t *testing.T, c *cluster, before trace) {
	if during := traces(t, c.name); len(during.processes) == 0 || len(during.links) == 0 || len(during.mounts) == 0 {
		t.Errorf("the test sees nothing of a cluster that runs: %+v", during)
	}
	c.cli(t, "down", c.spec).exits(t, 3).says(t, "--yes")
	c.cli(t, "down", c.spec, "--yes").exits(t, 0)
	if d := cmp.Diff(before, traces(t, c.name), cmp.AllowUnexported(trace{})); d != "" {
		t.Errorf("left behind on this machine:\n%s", d)
	}
	if _, err := os.Stat(filepath.Dir(c.stateDir())); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("state is left: %v", err)
	}
	c.cli(t, "down", c.spec, "--yes").exits(t, 0).says(t, "Nothing is left")
}

// trace is what the local hosts of a cluster leave on a machine.
type trace struct{ mounts, namespaces, links, cgroups, processes, files []string }

func traces(t *testing.T, name string) trace {
	t.Helper()
	sum := sha256.Sum256([]byte(name))
	network := "cc-" + hex.EncodeToString(sum[:4])
	var tr trace
	mounts, err := mountinfo.GetMounts(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mounts {
		if strings.Contains(m.Mountpoint, "/clusterctl/local/"+name+"/") || strings.Contains(m.Mountpoint, network) {
			tr.mounts = append(tr.mounts, m.Mountpoint)
		}
	}
	links, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		if l.Name == network {
			tr.links = append(tr.links, l.Name)
		}
	}
	tr.namespaces = glob(t, "/run/netns/"+network+"*")
	tr.files = slices.Concat(glob(t, "/var/lib/clusterctl/local/"+name), glob(t, "/run/clusterctl/local/"+name))
	tr.cgroups = slices.Concat(glob(t, "/sys/fs/cgroup/clusterctl/"+name), glob(t, "/sys/fs/cgroup/*/clusterctl/"+name))
	for _, path := range glob(t, "/proc/[0-9]*/cgroup") {
		data, err := os.ReadFile(path)
		if err == nil && bytes.Contains(data, []byte("/clusterctl/"+name+"/")) && !isZombie(filepath.Dir(path)) {
			tr.processes = append(tr.processes, path)
		}
	}
	return tr
}

// isZombie says whether a process is dead and only waits for the machine's process 1 to notice.
func isZombie(proc string) bool {
	stat, err := os.ReadFile(filepath.Join(proc, "stat"))
	_, rest, _ := bytes.Cut(stat, []byte(") "))
	return err != nil || bytes.HasPrefix(rest, []byte("Z"))
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return found
}
