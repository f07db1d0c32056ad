//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"clusterctl/provision/inventory"
)

// otherMachinesAreLockedOut has a second operator, who has the cluster's spec and state in another
// place and reaches its hosts over SSH, meet a run that changes the cluster.
func otherMachinesAreLockedOut(t *testing.T, c *cluster) {
	other := c.checkout(t)
	other.cli(t, "plan", other.spec, "--detailed-exitcode").exits(t, 0).says(t, "No changes")
	other.cli(t, "unlock", other.spec).exits(t, 0).says(t, "Nobody holds the lock")
	change := func(from, to string) {
		c.edit(t, "event-ttl: "+from, "event-ttl: "+to)
		other.edit(t, "event-ttl: "+from, "event-ttl: "+to)
	}

	change("2h0m0s", "3h0m0s")
	first := command{args: []string{"up", c.spec, "--yes"}}.start(t)
	first.prints(t, time.Minute, "apiserver: started")
	pid := "process " + strconv.Itoa(first.cmd.Process.Pid)
	other.cli(t, "up", other.spec, "--yes").exits(t, 5).says(t, "e2e-cp-1 is locked by", pid, "since", `running "up `+c.spec)
	other.cli(t, "plan", other.spec).exits(t, 0)
	other.cli(t, "unlock", other.spec).exits(t, 3).says(t, "host e2e-cp-1", strconv.Itoa(first.cmd.Process.Pid), "--yes")
	first.signal(t, syscall.SIGKILL)
	first.wait(t)
	c.cli(t, "status", c.spec).says(t, "unfinished run: up", "was cut off")
	other.cli(t, "up", other.spec, "--yes").exits(t, 0) // at once: the lock died with its holder
	c.cli(t, "plan", c.spec, "--detailed-exitcode").exits(t, 0)

	change("3h0m0s", "4h0m0s")
	second := command{args: []string{"up", c.spec, "--yes"}}.start(t)
	second.prints(t, time.Minute, "apiserver: started")
	other.cli(t, "unlock", other.spec, "--yes", "-o", "json").exits(t, 0).says(t, `"where": "host e2e-cp-3"`)
	second.wait(t).exits(t, 1).says(t, "lock was lost", "taken away")
	c.cli(t, "up", c.spec, "--yes").exits(t, 0)
	c.cli(t, "status", c.spec).exits(t, 0).says(t, "No problems.")
}

// checkout is the cluster as another machine has it: a spec that names its hosts, and a copy of
// the state.
func (c *cluster) checkout(t *testing.T) *cluster {
	t.Helper()
	other := &cluster{name: c.name, spec: filepath.Join(t.TempDir(), "cluster.yaml")}
	text, err := os.ReadFile(c.spec)
	if err != nil {
		t.Fatal(err)
	}
	inv := c.inventory(t)
	first := inv.Hosts[0].SSH
	out := replace(t, string(text), "    local: {}\n", fmt.Sprintf("    ssh:\n      user: %s\n      keyPath: %s\n      knownHostsPath: %s\n", first.User, first.KeyPath, first.KnownHostsPath))
	out = replace(t, out, "    replicas: 3\n", hostList("    ", inv.ControlPlanes()))
	out = replace(t, out, "      replicas: 2\n", hostList("      ", inv.Workers()))
	other.write(t, out)
	if err := os.MkdirAll(other.stateDir(), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"secrets", "identity.json", "inventory.json"} {
		data, err := os.ReadFile(filepath.Join(c.stateDir(), name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(other.stateDir(), name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return other
}

func hostList(indent string, hosts []inventory.Host) string {
	var b strings.Builder
	b.WriteString(indent + "hosts:\n")
	for _, h := range hosts {
		fmt.Fprintf(&b, "%s  - name: %s\n%s    address: %s\n", indent, h.Name, indent, h.Address)
	}
	return b.String()
}
