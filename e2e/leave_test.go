//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"clusterctl/provision/inventory"
)

// stuckPodIsNamed has a pod on a worker that no budget lets go, and takes the worker out of the spec:
// that is refused before anything is changed. Then the pod goes.
func stuckPodIsNamed(t *testing.T, c *cluster, worker, without string) {
	c.kubectl(t, "label", "node", worker, "e2e=stuck")
	c.kubectl(t, "apply", "--filename", manifest(t, "stuck.yaml"))
	c.kubectl(t, "rollout", "status", "deployment/stuck", "--timeout=60s")
	c.kubectl(t, "wait", "--for=jsonpath={.status.expectedPods}=1", "pdb/stuck", "--timeout=30s")
	c.write(t, without)
	for _, command := range [][]string{{"plan", c.spec}, {"up", c.spec, "--yes"}} {
		c.cli(t, command...).exits(t, 1).says(t, "pod default/stuck-", "disruption budget default/stuck never lets it go", "needs 1 healthy pods of 1")
	}
	if cordoned := c.kubectl(t, "get", "node", worker, "-o", "jsonpath={.spec.unschedulable}"); cordoned != "" {
		t.Errorf("%s was cordoned by a run that was refused", worker)
	}
	c.kubectl(t, "delete", "--filename", manifest(t, "stuck.yaml"))
	c.cli(t, "plan", c.spec).exits(t, 0).says(t, "pods of node "+worker)
}

// addressMoves gives a host another cluster address.
func addressMoves(t *testing.T, c *cluster, p *park, h inventory.Host) {
	bytes := h.Address.As4()
	bytes[3] += 100
	moved := netip.AddrFrom4(bytes)
	p.run(t, h.Name, fmt.Sprintf("ip address add %s/24 dev eth0", moved))
	c.edit(t, h.Name+", address: "+h.Address.String(), fmt.Sprintf("%s, address: %s, privateAddress: %s", h.Name, h.Address, moved))
	c.cli(t, "up", c.spec, "--yes").exits(t, 0)
	c.cli(t, "plan", c.spec, "--detailed-exitcode").exits(t, 0)
	if got := c.kubectl(t, "get", "node", h.Name, "-o", `jsonpath={.status.addresses[?(@.type=="InternalIP")].address}`); got != moved.String() {
		t.Errorf("the node %s is at %s, want %s", h.Name, got, moved)
	}
	c.heals(t)
}

// purged takes control planes away with their data.
func purged(t *testing.T, c *cluster, p *park, hosts ...inventory.Host) {
	args := []string{"up", c.spec, "--yes", "--purge"}
	for _, h := range hosts {
		c.edit(t, fmt.Sprintf("    - {name: %s, address: %s}\n", h.Name, h.Address), "")
		args = append(args, "--allow-remove", h.Name)
	}
	c.cli(t, "plan", c.spec).exits(t, 0).says(t, "etcd's data is renamed") // only who says --purge purges
	c.cli(t, args...).exits(t, 0)
	for _, h := range hosts {
		p.empty(t, h.Name)
		if left := p.run(t, h.Name, "ls -A /var/lib/etcd"); left != "" {
			t.Errorf("data is left on %s: %s", h.Name, left)
		}
	}
	c.heals(t)
}

// workerDiesAndLeaves cuts a worker's power, has it made anew, and takes it out of the spec: its
// machine goes, too.
func workerDiesAndLeaves(t *testing.T, c *cluster) {
	worker := workers[1]
	disk := filepath.Join("/var/lib/clusterctl/local", c.name, "hosts", worker)
	mark := filepath.Join(disk, "of-the-dead-machine")
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c.powerOff(t, worker)
	c.cli(t, "replace", c.spec, worker, "--yes").exits(t, 0)
	c.heals(t)
	if _, err := os.Stat(mark); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s has the disk that it had: %v", worker, err)
	}
	c.edit(t, "replicas: 2\n", "replicas: 1\n")
	c.cli(t, "plan", c.spec).exits(t, 0).says(t, "host "+worker, "pods of node "+worker)
	c.cli(t, "up", c.spec, "--yes").exits(t, 0)
	if _, err := os.Stat(disk); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the machine of %s is left: %v", worker, err)
	}
	if nodes := c.kubectl(t, "get", "nodes", "-o", "name"); strings.Contains(nodes, worker) {
		t.Errorf("%s is a node still:\n%s", worker, nodes)
	}
	c.cli(t, "plan", c.spec, "--detailed-exitcode").exits(t, 0)
}
