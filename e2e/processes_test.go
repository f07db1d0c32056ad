//go:build e2e

package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"clusterctl/components"
	"clusterctl/components/etcd"
	"clusterctl/components/kubernetes"
)

// Our units.
var (
	everyUnit = []string{"clusterctl-balancer", "containerd", "flanneld", "kube-proxy", "kubelet"}
	planeUnit = []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"}
)

func unitsOf(name string) []string {
	if slices.Contains(planes, name) {
		return slices.Concat(everyUnit, planeUnit)
	}
	return everyUnit
}

// process is a unit's main process, and how often systemd started it anew after it had ended by
// itself; a start by hand begins to count again.
type process struct {
	pid      string
	restarts int
}

// processes gives the main process of each of our units as "host/unit".
func (c *cluster) processes(t *testing.T, hosts []string) map[string]process {
	t.Helper()
	out := map[string]process{}
	for _, name := range hosts {
		units := unitsOf(name)
		script := "for u in " + strings.Join(units, " ") + "; do echo $(systemctl show --property=MainPID --value $u) $(systemctl show --property=NRestarts --value $u); done"
		for i, line := range strings.Split(c.sh(t, name, script), "\n") {
			var p process
			if _, err := fmt.Sscan(line, &p.pid, &p.restarts); err != nil || p.pid == "0" {
				t.Errorf("%s on %s does not run: %q %v", units[i], name, line, err)
			}
			out[name+"/"+units[i]] = p
		}
	}
	return out
}

// changedProcesses lists the units that somebody restarted. One that ended by itself - a controller
// that lost its lease on a busy machine - is only told of.
func changedProcesses(t *testing.T, before, after map[string]process) []string {
	t.Helper()
	var out []string
	for _, unit := range slices.Sorted(maps.Keys(before)) {
		was, is := before[unit], after[unit]
		switch {
		case is.restarts > was.restarts:
			t.Logf("%s ended by itself and was started again %d times", unit, is.restarts-was.restarts)
		case is.pid != was.pid:
			out = append(out, unit)
		}
	}
	return out
}

// argumentsArrive compares the arguments of the running processes with those that were planned.
func argumentsArrive(t *testing.T, c *cluster) {
	for _, name := range all {
		n := c.node(t, name)
		program := func(component string) string { return components.Install("kubernetes", kubernetesVersion, component) }
		want := map[string][]string{"kubelet": append([]string{program("kubelet")}, kubernetes.KubeletArgs(n)...)}
		if n.IsControlPlane() {
			want["kube-apiserver"] = append([]string{program("kube-apiserver")}, kubernetes.APIServerArgs(n)...)
			want["kube-controller-manager"] = append([]string{program("kube-controller-manager")}, kubernetes.ControllerManagerArgs(n)...)
			want["kube-scheduler"] = append([]string{program("kube-scheduler")}, kubernetes.SchedulerArgs(n)...)
			args, err := etcd.Args(n)
			if err != nil {
				t.Fatal(err)
			}
			b, err := n.Binary("etcd")
			if err != nil {
				t.Fatal(err)
			}
			want["etcd"] = append([]string{components.Install("etcd", b.Version, "etcd")}, args...)
		}
		for _, unit := range slices.Sorted(maps.Keys(want)) {
			got := strings.Split(strings.TrimSuffix(c.sh(t, name, "cat /proc/$(systemctl show --property=MainPID --value "+unit+")/cmdline"), "\x00"), "\x00")
			if !slices.Equal(got, want[unit]) {
				t.Errorf("%s on %s runs with\n%q\nwant\n%q", unit, name, got, want[unit])
			}
		}
		if !slices.Contains(want["kubelet"], "--eviction-hard="+hostileEviction) || !slices.Contains(want["kubelet"], "--node-labels=note=a_b") {
			t.Errorf("the plan for the kubelet on %s lost arguments of the spec: %q", name, want["kubelet"])
		}
		if n.IsControlPlane() && !slices.Contains(want["kube-apiserver"], "--cors-allowed-origins="+hostileOrigins) {
			t.Errorf("the plan for the API server on %s lost arguments of the spec: %q", name, want["kube-apiserver"])
		}
	}
}
