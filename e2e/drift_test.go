//go:build e2e

package e2e

import (
	"slices"
	"strings"
	"testing"
)

// driftIsRepaired has somebody change five things by hand.
func driftIsRepaired(t *testing.T, c *cluster) {
	const unitFile = "/etc/systemd/system/kube-scheduler.service"
	before := c.processes(t, all)
	c.sh(t, workers[0], "systemctl stop kube-proxy")
	c.sh(t, workers[1], "sysctl -q -w net.ipv4.ip_forward=0")
	c.sh(t, planes[0], "rm /usr/local/bin/kubectl")
	c.sh(t, planes[1], "echo '# by hand' >>"+unitFile)
	c.kubectl(t, "label", "node", workers[1], "clusterctl/pool-", "example.com/pool-")

	steps := decode[planAnswer](t, c.cli(t, "plan", c.spec, "--detailed-exitcode", "-o", "json").exits(t, 2)).steps()
	for host, title := range map[string]string{
		workers[0]: "kube-proxy", workers[1]: "ip_forward", planes[0]: "/usr/local/bin/kubectl", planes[1]: unitFile,
	} {
		if !slices.ContainsFunc(steps[host], func(s stepAnswer) bool { return strings.Contains(s.Title, title) }) {
			t.Errorf("the plan for %s says nothing of %s: %+v", host, title, steps[host])
		}
	}
	if !slices.ContainsFunc(slices.Concat(steps[workers[1]], steps[""]), func(s stepAnswer) bool { return s.Kind == "node" }) {
		t.Errorf("the plan says nothing of the labels of %s: %+v", workers[1], steps)
	}
	if len(steps[planes[2]]) > 0 {
		t.Errorf("nothing was changed on %s, and the plan has %+v", planes[2], steps[planes[2]])
	}

	c.cli(t, "up", c.spec, "--yes").exits(t, 0)
	if got := c.sh(t, workers[1], "cat /proc/sys/net/ipv4/ip_forward"); got != "1" {
		t.Errorf("ip_forward is %s", got)
	}
	if got := c.sh(t, planes[1], "grep -c 'by hand' "+unitFile+" || true"); got != "0" {
		t.Errorf("the unit file has still what was written by hand")
	}
	c.sh(t, planes[0], "kubectl version --client")
	if got := c.kubectl(t, "get", "node", workers[1], "--output", `jsonpath={.metadata.labels.clusterctl/pool} {.metadata.labels.example\.com/pool}`); got != "default default" {
		t.Errorf("labels of %s: %q", workers[1], got)
	}
	allowed := []string{workers[0] + "/kube-proxy", planes[1] + "/kube-scheduler"}
	for _, unit := range changedProcesses(t, before, c.processes(t, all)) {
		if !slices.Contains(allowed, unit) {
			t.Errorf("%s was restarted without a reason", unit)
		}
	}
	c.cli(t, "plan", c.spec, "--detailed-exitcode").exits(t, 0)
}
