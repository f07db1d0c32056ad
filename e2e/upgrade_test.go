//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"clusterctl/components/bundle"
	"clusterctl/e2e/load"
)

// formerVersion is the minor version before the one that the examples name.
const formerVersion = "v1.36.3"

// The hosts of the cluster that is upgraded.
var (
	upPlanes  = []string{"e2e-upgrade-cp-1", "e2e-upgrade-cp-2", "e2e-upgrade-cp-3"}
	upWorkers = []string{"e2e-upgrade-default-1", "e2e-upgrade-default-2"}
	upAll     = slices.Concat(upPlanes, upWorkers)
)

// TestUpgrade moves a cluster that serves pods and writes to the next minor version. Each part
// needs what the parts before it left.
func TestUpgrade(t *testing.T) {
	for _, v := range []string{formerVersion, kubernetesVersion} {
		if _, err := bundle.Open(filepath.Join(shared.cache, "bundles"), v, "linux", "amd64"); err != nil {
			t.Fatalf("%v; run: make bundle", err)
		}
	}
	text, err := os.ReadFile("../examples/local-ha.yaml")
	if err != nil {
		t.Fatal(err)
	}
	former := replace(t, replace(t, string(text), "\n  name: local-ha\n", "\n  name: e2e-upgrade\n"), "version: "+kubernetesVersion, "version: "+formerVersion)
	c := newCluster(t, "e2e-upgrade", former)
	c.cli(t, "up", c.spec, "--yes").exits(t, 0)
	client := startClient(t, c.balancedClient(t, upWorkers[1]), 50*time.Millisecond, time.Second)
	for _, part := range []struct {
		name string
		run  func(*testing.T, *cluster)
	}{
		{"UnknownArgumentsAreRefused", unknownArguments},
		{"ABadAPIServerCostsOneHostAndIsPutBack", badAPIServer},
		{"AnUpgradeThatIsKilledGoesOn", killedUpgrade},
		{"NoRequestFailed", func(t *testing.T, _ *cluster) { noRequestFailed(t, client) }},
		{"TheWayBackIsRefused", noWayBack},
	} {
		if !t.Run(part.name, func(t *testing.T) { part.run(t, c) }) {
			return
		}
	}
}

// unknownArguments: the new programs are asked before anything is touched.
func unknownArguments(t *testing.T, c *cluster) {
	before := c.processes(t, upAll)
	c.edit(t, "    version: "+formerVersion+"\n", "    version: "+kubernetesVersion+"\n    apiServerArgs: {feature-gates: BlockVolume=true}\n    kubeletArgs: {container-runtime: remote}\n")
	for _, args := range [][]string{{"plan", c.spec}, {"up", c.spec, "--yes"}} {
		c.cli(t, args...).exits(t, 3).says(t, "spec.kubernetes.kubeletArgs: kubelet "+kubernetesVersion+" does not take --container-runtime=remote",
			"kube-apiserver "+kubernetesVersion+" does not take --feature-gates=BlockVolume=true")
	}
	c.edit(t, "    apiServerArgs: {feature-gates: BlockVolume=true}\n    kubeletArgs: {container-runtime: remote}\n", "")
	if changed := changedProcesses(t, before, c.processes(t, upAll)); len(changed) > 0 {
		t.Errorf("restarted: %v", changed)
	}
}

// badAPIServer gives the API servers an argument that they take and cannot start with.
func badAPIServer(t *testing.T, c *cluster) {
	const bad = "    apiServerArgs: {max-requests-inflight: '-1'}\n"
	c.edit(t, "    version: "+kubernetesVersion+"\n", "    version: "+kubernetesVersion+"\n"+bad)
	before := c.processes(t, upAll)
	c.cli(t, "upgrade", c.spec, "--yes", "--pause-after", "apiserver").exits(t, 1).says(t,
		"--max-requests-inflight can not be negative value", upPlanes[0]+" was put back to what it ran before and is healthy again")
	for _, unit := range changedProcesses(t, before, c.processes(t, upAll)) {
		if !strings.HasSuffix(unit, "/etcd") && unit != upPlanes[0]+"/kube-apiserver" {
			t.Errorf("%s was restarted", unit)
		}
	}
	for _, name := range upPlanes {
		if got := c.sh(t, name, "tr '\\0' '\\n' </proc/$(systemctl show --property=MainPID --value kube-apiserver)/cmdline"); !strings.Contains(got, "/"+formerVersion+"/") || strings.Contains(got, "inflight") {
			t.Errorf("the API server on %s runs with\n%s", name, got)
		}
	}
	c.edit(t, bad, "")
}

// noRequestFailed: the client that wrote and read through a node's balancer all the time lost nothing,
// also while an upgrade was killed and run again. One write may fail in the moment in which etcd's lead
// moves: raft drops what a follower has just sent to the former leader, and etcd tells its client
// only after 7 s (server/etcdserver, ServerConfig.ReqTimeout); the client waits 5 s.
func noRequestFailed(t *testing.T, c *load.Client) {
	if r := report(t, c); r.Requests < 1000 || r.Failures > 1 {
		t.Errorf("%d of %d requests failed", r.Failures, r.Requests)
	}
}

// killedUpgrade kills the upgrade with SIGKILL somewhere and runs it again, while a Deployment is
// under a disruption budget.
func killedUpgrade(t *testing.T, c *cluster) {
	c.importImage(t, upWorkers...)
	c.kubectl(t, "apply", "--filename", manifest(t, "web.yaml"), "--filename", manifest(t, "budget.yaml"))
	c.kubectl(t, "rollout", "status", "deployment/web", "--timeout=90s")
	c.cli(t, "upgrade", "plan", c.spec).exits(t, 0).says(t, "kube-apiserver", formerVersion, "drain, then restart kubelet, kube-proxy on "+upWorkers[0]+", then "+upWorkers[1])

	api := c.balancedClient(t, upWorkers[1])
	watching := watchBudget(t, api)
	began := time.Now()
	phase := []string{"apiserver", "controllers", "nodes"}[rand.IntN(3)]
	first := command{args: []string{"up", c.spec, "--yes"}}.start(t)
	first.prints(t, 4*time.Minute, phase+": started")
	t.Logf("killed in phase %s", phase)
	first.signal(t, syscall.SIGKILL)
	first.wait(t).exits(t, 128+9)
	c.cli(t, "up", c.spec, "--yes").exits(t, 0)
	t.Logf("behind etcd, and with the kill, the upgrade took %v", time.Since(began).Round(time.Second))

	if low, err := watching.end(); low < 3 || err != nil {
		t.Errorf("at some moment %d pods were available, the budget wants 3; %v", low, err)
	}
	if err := c.nodesReady(t.Context(), api, upAll...); err != nil {
		t.Error(err)
	}
	upgraded(t, c, api)
}

// upgraded looks at what an upgrade must leave.
func upgraded(t *testing.T, c *cluster, api kubernetes.Interface) {
	t.Helper()
	nodes, err := api.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes.Items {
		if n.Spec.Unschedulable {
			t.Errorf("node %s is still cordoned", n.Name)
		}
	}
	s := decode[statusAnswer](t, c.cli(t, "status", c.spec, "-o", "json").exits(t, 0))
	for _, h := range s.Hosts {
		if h.Running != kubernetesVersion {
			t.Errorf("%s runs %s", h.Name, h.Running)
		}
	}
	for _, m := range s.Etcd {
		if !strings.HasPrefix(m.Version, "3.7.") {
			t.Errorf("etcd member %s runs %s", m.Name, m.Version)
		}
	}
	backups, err := filepath.Glob(filepath.Join(c.stateDir(), "backups", "etcd-*.db"))
	if err != nil || len(backups) == 0 {
		t.Errorf("backups %v, %v", backups, err)
	}
	c.cli(t, "plan", c.spec, "--detailed-exitcode").exits(t, 0)
}

// noWayBack: an older minor version is refused before anything is touched.
func noWayBack(t *testing.T, c *cluster) {
	before := c.processes(t, upAll)
	for _, args := range [][]string{
		{"upgrade", c.spec, "--yes", "--to", formerVersion}, {"upgrade", "plan", c.spec, "--to", formerVersion, "--allow-older-patch"},
	} {
		c.cli(t, args...).exits(t, 3).says(t, "older minor version", upPlanes[0])
	}
	if changed := changedProcesses(t, before, c.processes(t, upAll)); len(changed) > 0 {
		t.Errorf("restarted: %v", changed)
	}
	c.cli(t, "plan", c.spec, "--detailed-exitcode").exits(t, 0)
}

// budgetWatch looks how many pods of the Deployment web are available.
type budgetWatch struct {
	stop func()
	low  int32
	err  error
}

func watchBudget(t *testing.T, api kubernetes.Interface) *budgetWatch {
	w := &budgetWatch{low: 4, err: errors.New("the Deployment was never seen")}
	w.stop = load.Every(t.Context(), 200*time.Millisecond, func(ctx context.Context) {
		d, err := api.AppsV1().Deployments("default").Get(ctx, "web", metav1.GetOptions{})
		if err == nil { // that the API answers is the client's business
			w.low, w.err = min(w.low, d.Status.AvailableReplicas), nil
		}
	})
	return w
}

func (w *budgetWatch) end() (int32, error) {
	w.stop()
	if w.err != nil {
		return 0, fmt.Errorf("watch the budget: %w", w.err)
	}
	return w.low, nil
}
