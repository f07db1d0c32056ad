package phases_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"clusterctl/components/resource"
	"clusterctl/phases"
	"clusterctl/phases/drain"
	"clusterctl/phases/plan"
)

const (
	oldVersion = "v1.36.3"
	newVersion = "v1.37.2"
)

// upgrading is a cluster that runs from, with the facts of its hosts, and whose spec says to.
func upgrading(t *testing.T, workers int, lines string) (*phases.Cluster, resource.Facts) {
	t.Helper()
	secrets := newSecrets(t)
	before := clusterOf(t, sshSpec(oldVersion, 3, workers, lines), secrets)
	facts := installed(t, before)
	c := clusterOf(t, sshSpec(newVersion, 3, workers, lines), secrets)
	c.Running = runs(before)
	for _, h := range c.Inventory.Hosts {
		node := resource.Scheduling{Host: h.Name}
		facts[node.Key()] = resource.Fact{Exists: true, Digest: node.Digest()}
	}
	return c, facts
}

// runs is what runs on a cluster that is as its release says.
func runs(c *phases.Cluster) phases.Versions {
	out := phases.Versions{}
	for _, h := range c.Inventory.Hosts {
		out[h.Name] = map[string]string{"kubelet": c.Release.Kubernetes, "kube-proxy": c.Release.Kubernetes}
		if strings.HasPrefix(h.Name, "cp-") {
			for _, unit := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
				out[h.Name][unit] = c.Release.Kubernetes
			}
			out[h.Name]["etcd"] = c.Release.Version("etcd")
		}
	}
	return out
}

// nodeSteps gives the steps that a node's pods feel, in order.
func nodeSteps(planned []phases.Planned) []string {
	var out []string
	for _, s := range stepsOf(planned) {
		if s.Key.Kind == resource.KindSchedule || s.Key.Name == "kubelet.service" {
			out = append(out, string(s.Verb)+" "+s.Key.Host)
		}
	}
	return out
}

func TestWorkersAreDrainedForANewMinorVersionOneWaveAfterTheOther(t *testing.T) {
	c, facts := upgrading(t, 2, "")
	got := nodeSteps(planOf(t, c, phases.Up(), facts))
	want := []string{"restart cp-1", "restart cp-2", "restart cp-3", "drain worker-1", "restart worker-1", "uncordon worker-1",
		"drain worker-2", "restart worker-2", "uncordon worker-2"}
	if !slices.Equal(got, want) {
		t.Errorf("steps %v, want %v", got, want)
	}
}

func TestMaxUnavailableWorkersAreDrainedTogether(t *testing.T) {
	c, facts := upgrading(t, 4, "  upgradePolicy: {maxUnavailable: '50%'}\n")
	var got [][]string
	for _, b := range batchesOf(planOf(t, c, phases.Up(), facts)) {
		if b.Steps[b.Hosts[0]][0].Verb == plan.Drain {
			got = append(got, b.Hosts)
		}
	}
	if want := [][]string{{"worker-1", "worker-2"}, {"worker-3", "worker-4"}}; !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("drained together %v, want %v", got, want)
	}
}

// TestAnOnlyWorkerIsNotDrained: its pods could go nowhere, and they outlive a restarted kubelet.
func TestAnOnlyWorkerIsNotDrained(t *testing.T) {
	c, facts := upgrading(t, 1, "")
	if got := nodeSteps(planOf(t, c, phases.Up(), facts)); slices.Contains(got, "drain worker-1") {
		t.Errorf("steps %v", got)
	}
}

func TestAChangedArgumentDrainsNobody(t *testing.T) {
	secrets := newSecrets(t)
	before := clusterOf(t, sshSpec(newVersion, 3, 2, ""), secrets)
	c := clusterOf(t, sshSpec(newVersion, 3, 2, "  kubernetes: {kubeletArgs: {max-pods: '50'}}\n"), secrets)
	c.Running = runs(before)
	for _, s := range nodeSteps(planOf(t, c, phases.Up(), installed(t, before))) {
		if !strings.HasPrefix(s, "restart ") {
			t.Errorf("step %s", s)
		}
	}
}

// TestANodeThatAnEarlierRunDrainedIsOpened: the run was killed behind the restart.
func TestANodeThatAnEarlierRunDrainedIsOpened(t *testing.T) {
	c, facts := upgrading(t, 2, "")
	c.Running = runs(c)
	facts = done(facts, stepsOf(planOf(t, c, phases.Up(), facts)))
	cordoned := resource.Scheduling{Host: "worker-1", Drained: true}
	facts[cordoned.Key()] = resource.Fact{Exists: true, Digest: cordoned.Digest()}
	if got := nodeSteps(planOf(t, c, phases.Up(), facts)); !slices.Equal(got, []string{"uncordon worker-1"}) {
		t.Errorf("steps %v", got)
	}
}

// TestAnUpgradeThatIsKilledAnywhereEndsWithTheNewVersionAndOpenNodes cuts the upgrade after every
// step and runs it again with what then runs.
func TestAnUpgradeThatIsKilledAnywhereEndsWithTheNewVersionAndOpenNodes(t *testing.T) {
	c, facts := upgrading(t, 2, "")
	runbook := frozen(t, c, phases.Up())
	all := stepsOf(planOf(t, c, runbook, facts))
	for i := range all {
		crashed := done(facts, all[:i])
		again := *c
		again.Running = phases.Versions{}
		for host, units := range c.Running {
			again.Running[host] = map[string]string{}
			for unit, version := range units {
				again.Running[host][unit] = version
			}
		}
		for _, s := range all[:i] {
			if s.Verb == plan.Restart {
				again.Running[s.Key.Host][strings.TrimSuffix(s.Key.Name, ".service")] = versionOf(c, s)
			}
		}
		end := done(crashed, stepsOf(planOf(t, &again, runbook, crashed)))
		for _, h := range c.Inventory.Hosts {
			if got := end[resource.Scheduling{Host: h.Name}.Key()].Digest; got != "open" {
				t.Errorf("killed before step %d: node %s ends %q", i+1, h.Name, got)
			}
		}
		if left := stepsOf(planOf(t, &again, runbook, end)); len(left) > 0 {
			t.Errorf("killed before step %d: %d steps left after the second run", i+1, len(left))
		}
	}
}

// versionOf is what a unit runs once its step is done.
func versionOf(c *phases.Cluster, s plan.Step) string {
	if s.Key.Name == "etcd.service" {
		return c.Release.Of("etcd").Version("etcd")
	}
	return c.Release.Of(strings.TrimSuffix(s.Key.Name, ".service")).Kubernetes
}

// TestAStuckNodeIsLeftOutWhereThePolicySaysSo and the others go on; the run ends with what it left.
func TestAStuckNodeIsLeftOutWhereThePolicySaysSo(t *testing.T) {
	s := newStage(t)
	s.env.Cluster.Spec.Spec.UpgradePolicy.StuckBudget = "skip"
	stuck := &drain.StuckError{Node: "worker-1", Pods: []drain.Pod{{Namespace: "default", Name: "web", Why: "budget"}}}
	if !s.env.Leave("worker-1", fmt.Errorf("worker-1: %w", stuck)) {
		t.Fatal("the host was not left out")
	}
	if s.env.Leave("worker-2", errors.New("no route to host")) {
		t.Fatal("a host that failed for another reason was left out")
	}
	err := s.run(t.Context(), planOf(t, s.env.Cluster, []phases.Phase{phase("x", s.gate("worker-1"), workers...)}, running("x", workers...)))
	if err == nil || !strings.Contains(err.Error(), "worker-1 was left out: worker-1: pod default/web: budget") {
		t.Errorf("error %v", err)
	}
	if len(s.fakes["worker-1"].Paths()) != 0 || !slices.Contains(s.log, "gate worker-2") {
		t.Errorf("log %v", s.log)
	}
}

func TestAPlanIsCutBehindAPhaseOrAHost(t *testing.T) {
	c, facts := upgrading(t, 2, "")
	planned := planOf(t, c, phases.Up(), facts)
	for name, want := range map[string]string{
		"etcd":     "restart cp-3 etcd.service", // the phase
		"cp-2":     "restart cp-2 kube-proxy.service",
		"worker-1": "uncordon worker-1 worker-1",
	} {
		cut, ok := phases.Until(c, planned, name)
		steps := stepsOf(cut)
		if !ok || len(steps) == 0 {
			t.Errorf("%s: no steps, known %v", name, ok)
			continue
		}
		last := steps[len(steps)-1]
		if got := string(last.Verb) + " " + last.Key.Host + " " + last.Key.Name; got != want {
			t.Errorf("behind %s the last step is %s, want %s", name, got, want)
		}
		if rest := stepsOf(planOf(t, c, phases.Up(), done(facts, steps))); len(rest)+len(steps) < len(stepsOf(planned)) {
			t.Errorf("behind %s: %d steps done and %d left of %d", name, len(steps), len(rest), len(stepsOf(planned)))
		}
	}
	if _, ok := phases.Until(c, planned, "worker-9"); ok {
		t.Error("a name that is neither a phase nor a host is taken")
	}
}

func TestStagesSayWhatIsInterruptedInWhichOrder(t *testing.T) {
	c, facts := upgrading(t, 2, "")
	c.Leader = "cp-1"
	var got []string
	for _, s := range phases.Stages(planOf(t, c, phases.Up(), facts)) {
		got = append(got, fmt.Sprintf("%s %v %v %v", s.Phase, s.Units, s.Batches, s.Drains))
	}
	want := []string{
		"etcd [etcd] [[cp-2] [cp-3] [cp-1]] false", "apiserver [kube-apiserver] [[cp-1] [cp-2] [cp-3]] false",
		"controllers [kube-controller-manager kube-scheduler] [[cp-1] [cp-2] [cp-3]] false",
		"nodes [kubelet kube-proxy] [[cp-1] [cp-2] [cp-3]] false", "nodes [kubelet kube-proxy] [[worker-1] [worker-2]] true",
	}
	if !slices.Equal(got, want) {
		t.Errorf("stages\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
