package phases_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/version"

	"clusterctl/components/release"
	"clusterctl/components/resource"
	"clusterctl/phases"
	"clusterctl/phases/plan"
)

// moment is what runs behind a restart, and which minor versions are emulated.
type moment struct {
	event              string
	running, emulating phases.Versions
}

// record is what runs after each restart of an upgrade, in order.
func record(c *phases.Cluster, planned []phases.Planned) []moment {
	var out []moment
	now := moment{"", copied(c.Running), copied(c.Emulating)}
	for _, b := range batchesOf(planned) {
		for _, name := range b.Hosts { // the hosts of a batch may end in any order: each restart is a moment of its own
			for _, s := range b.Steps[name] {
				if s.Verb != plan.Restart {
					continue
				}
				unit := strings.TrimSuffix(s.Key.Name, ".service")
				if now.running[name][unit] != "" {
					now.running[name][unit] = versionOf(c, s)
				}
				if release.Emulates(unit) {
					if now.emulating[name] == nil {
						now.emulating[name] = map[string]string{}
					}
					now.emulating[name][unit] = c.Release.Emulated()
				}
				out = append(out, moment{unit + " on " + name, copied(now.running), copied(now.emulating)})
			}
		}
	}
	return out
}

func copied(v phases.Versions) phases.Versions {
	out := phases.Versions{}
	for host, units := range v {
		out[host] = maps.Clone(units)
	}
	return out
}

// skews gives every rule that a moment breaks. A controller reaches the API server of its own host,
// or with shared any of them (Kubernetes, "Version Skew Policy").
func skews(v phases.Versions, shared bool) []string {
	minor := func(host, unit string) int {
		p := version.MustParseSemantic(v[host][unit])
		return int(p.Major()*1000 + p.Minor())
	}
	var servers []int
	for _, h := range planes {
		servers = append(servers, minor(h, "kube-apiserver"))
	}
	low, high := slices.Min(servers), slices.Max(servers)
	var out []string
	if high-low > 1 {
		out = append(out, "API servers are more than one minor version apart")
	}
	for _, h := range planes {
		reached := minor(h, "kube-apiserver")
		if shared {
			reached = low
		}
		for _, unit := range []string{"kube-controller-manager", "kube-scheduler"} {
			if minor(h, unit) > reached {
				out = append(out, unit+" on "+h+" is newer than an API server that it reaches")
			}
			if high-minor(h, unit) > 1 {
				out = append(out, unit+" on "+h+" is too old")
			}
		}
	}
	for _, h := range every {
		for _, unit := range []string{"kubelet", "kube-proxy"} {
			if m := minor(h, unit); m > low || high-m > 3 {
				out = append(out, unit+" on "+h+" is newer than an API server, or too old")
			}
		}
	}
	return out
}

// TestSkewRulesHoldAtEveryMomentOfAnUpgrade from its start and from every half-done state, with
// controllers that reach their own host's API server and with an endpoint that leads to any.
func TestSkewRulesHoldAtEveryMomentOfAnUpgrade(t *testing.T) {
	for _, endpoint := range []string{"", "    endpoint: api.example.test\n"} {
		c, facts := upgrading(t, 2, "")
		if endpoint != "" {
			secrets := newSecrets(t)
			text := func(v string) string {
				return strings.Replace(sshSpec(v, 3, 2, ""), "  controlPlane:\n", "  controlPlane:\n"+endpoint, 1)
			}
			before := clusterOf(t, text(oldVersion), secrets)
			facts = installed(t, before)
			c = clusterOf(t, text(newVersion), secrets)
			c.Running = runs(before)
		}
		c.Leader = "cp-2"
		runbook := frozen(t, c, phases.Up())
		planned := planOf(t, c, runbook, facts)
		check := func(start string, c *phases.Cluster, planned []phases.Planned) {
			moments := record(c, planned)
			for _, m := range moments {
				for _, bad := range skews(m.running, true) {
					t.Errorf("%s, after %s: %s", start, m.event, bad)
				}
			}
			if n := len(moments); n > 0 && !maps.EqualFunc(moments[n-1].running, runs(c), maps.Equal) {
				t.Errorf("%s: the end is not the new version everywhere: %v", start, moments[n-1].running)
			}
		}
		check("from the start", c, planned)
		steps := stepsOf(planned)
		for i, s := range steps {
			if s.Verb != plan.Restart {
				continue
			}
			half := *c
			half.Running = copied(c.Running)
			for _, s := range steps[:i+1] {
				if unit := strings.TrimSuffix(s.Key.Name, ".service"); s.Verb == plan.Restart && half.Running[s.Key.Host][unit] != "" {
					half.Running[s.Key.Host][unit] = versionOf(c, s)
				}
			}
			// It was killed when the new program ran and nobody had stamped it, or when all was done.
			for _, n := range []int{i, i + 1} {
				check(fmt.Sprintf("killed at step %d of %d", n, len(steps)), &half, planOf(t, &half, runbook, done(facts, steps[:n])))
			}
		}
	}
}

// TestTheOrderOfAnUpgrade is the whole order of restarts, etcd's leader last of its kind.
func TestTheOrderOfAnUpgrade(t *testing.T) {
	c, facts := upgrading(t, 2, "")
	c.Leader = "cp-2"
	var events []string
	for _, m := range record(c, planOf(t, c, phases.Up(), facts)) {
		events = append(events, m.event)
	}
	want := []string{"etcd on cp-1", "etcd on cp-3", "etcd on cp-2", "kube-apiserver on cp-1", "kube-apiserver on cp-2", "kube-apiserver on cp-3"}
	for _, h := range planes {
		want = append(want, "kube-controller-manager on "+h, "kube-scheduler on "+h)
	}
	for _, h := range every {
		want = append(want, "kubelet on "+h, "kube-proxy on "+h)
	}
	if !slices.Equal(events, want) {
		t.Errorf("restarts\n%s\nwant\n%s", strings.Join(events, "\n"), strings.Join(want, "\n"))
	}
}

// TestAllProgramsAreThereBeforeTheFirstRestart: a full disk or a lost link then costs nothing.
func TestAllProgramsAreThereBeforeTheFirstRestart(t *testing.T) {
	c, facts := upgrading(t, 2, "")
	restarted := false
	programs := 0
	for _, s := range stepsOf(planOf(t, c, phases.Up(), facts)) {
		if s.Key.Kind == resource.KindArtifact {
			programs++
			if restarted {
				t.Errorf("%s is put after a restart", s.Key)
			}
		}
		restarted = restarted || s.Verb == plan.Restart
	}
	if programs == 0 || !restarted {
		t.Errorf("%d programs, restarts %v", programs, restarted)
	}
}

// TestAnEarlierThirdVersionIsFinishedToo: a run to a patch between was killed; some hosts run it.
func TestAnEarlierThirdVersionIsFinishedToo(t *testing.T) {
	c, facts := upgrading(t, 2, "")
	for _, unit := range []string{"kube-apiserver", "kubelet"} {
		key := resource.Key{Host: "cp-1", Kind: resource.KindUnit, Name: unit + ".service"}
		fact := facts[key]
		fact.Digest = "of v1.37.0"
		facts[key] = fact
		c.Running["cp-1"][unit] = "v1.37.0"
	}
	moments := record(c, planOf(t, c, phases.Up(), facts))
	if last := moments[len(moments)-1].running; !maps.EqualFunc(last, runs(c), maps.Equal) {
		t.Errorf("the end is %v", last)
	}
}
