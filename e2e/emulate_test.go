//go:build e2e

package e2e

import (
	"os"
	"strings"
	"testing"
)

const emulatePlane, emulateWorker = "e2e-emulate-cp-1", "e2e-emulate-default-1"

// TestEmulation takes a cluster to the next minor version in a way that can be gone back: it goes
// there, back, there again, and is raised. What was written meanwhile stays.
func TestEmulation(t *testing.T) {
	text, err := os.ReadFile("../examples/local.yaml")
	if err != nil {
		t.Fatal(err)
	}
	former := replace(t, replace(t, string(text), "\n  name: local\n", "\n  name: e2e-emulate\n"), "version: "+kubernetesVersion, "version: "+formerVersion)
	c := newCluster(t, "e2e-emulate", former+"\n  upgradePolicy: {emulate: true}\n")
	c.cli(t, "up", c.spec, "--yes").exits(t, 0)
	c.kubectl(t, "create", "configmap", "first", "--from-literal=from=former")
	old := c.versions(t)

	to, back := "version: "+kubernetesVersion, "version: "+formerVersion
	c.edit(t, back, to)
	plan := c.cli(t, "upgrade", "plan", c.spec).exits(t, 0).says(t, kubernetesVersion+" as v1.36", "The control plane emulates "+formerVersion)
	if strings.Contains(plan.stdout, "restart etcd") || strings.Contains(plan.stdout, "kubelet") {
		t.Errorf("the plan moves more than the control plane:\n%s", plan.stdout)
	}
	c.cli(t, "up", c.spec, "--yes").exits(t, 0).says(t, "may go back")
	c.emulates(t, old)
	c.kubectl(t, "create", "configmap", "second", "--from-literal=from=emulated")

	c.edit(t, to, back)
	c.cli(t, "up", c.spec, "--yes").exits(t, 0)
	if got := c.versions(t); got != old {
		t.Errorf("back again it runs\n%s\nwant\n%s", got, old)
	}
	c.kubectl(t, "get", "configmap", "first", "second")

	c.edit(t, back, to)
	c.cli(t, "up", c.spec, "--yes").exits(t, 0)
	c.emulates(t, old)
	c.edit(t, "emulate: true", "emulate: false")
	c.cli(t, "up", c.spec, "--yes").exits(t, 0)
	if got := c.versions(t); strings.Contains(got, formerVersion) || strings.Contains(got, "emulated") {
		t.Errorf("raised it runs\n%s", got)
	}
	if err := c.nodesReady(t.Context(), c.client(t), emulatePlane, emulateWorker); err != nil {
		t.Error(err)
	}
	c.kubectl(t, "get", "configmap", "first", "second")
	c.cli(t, "plan", c.spec, "--detailed-exitcode").exits(t, 0)
	c.edit(t, to, back)
	c.cli(t, "up", c.spec, "--yes").exits(t, 3).says(t, "older minor version")
}

// emulates holds a cluster to what it must be between an upgrade and its raise.
func (c *cluster) emulates(t *testing.T, old string) {
	t.Helper()
	got := c.versions(t)
	for _, unit := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		want := emulatePlane + " " + unit + " " + kubernetesVersion + " --emulated-version=1.36\n"
		if !strings.Contains(got, want) {
			t.Errorf("it runs\n%s\nwithout %s", got, want)
		}
		got = strings.Replace(got, want, emulatePlane+" "+unit+" "+formerVersion+"\n", 1)
	}
	if got != old {
		t.Errorf("beside the control plane it runs\n%s\nwant\n%s", got, old)
	}
	c.cli(t, "status", c.spec).exits(t, 0).says(t, "The control plane emulates "+formerVersion, "No problems.")
	c.cli(t, "plan", c.spec, "--detailed-exitcode").exits(t, 0)
	if got := c.kubectl(t, "get", "--raw", "/version"); !strings.Contains(got, `"emulationMinor": "36"`) {
		t.Errorf("the API server says %s", got)
	}
}

// versions are the programs that run on all hosts, a line each, with the version that they emulate.
func (c *cluster) versions(t *testing.T) string {
	t.Helper()
	const script = `for u in etcd kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy; do
  pid=$(systemctl show --property=MainPID --value $u)
  [ "$pid" -gt 0 ] || continue
  path=$(tr '\0' '\n' </proc/$pid/cmdline | head -n 1)
  version=${path#/opt/clusterctl/*/}
  echo "$(hostname)" $u ${version%/*} $(tr '\0' '\n' </proc/$pid/cmdline | grep -e --emulated-version)
done`
	return c.sh(t, emulatePlane, script) + "\n" + c.sh(t, emulateWorker, script) + "\n"
}
