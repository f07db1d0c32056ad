package phases_test

import (
	"encoding/base64"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"clusterctl/components/resource"
	"clusterctl/phases"
	"clusterctl/phases/plan"
	"clusterctl/pki"
	"clusterctl/provision/spec"
)

// examples gives the cluster of every example.
func examples(t *testing.T) map[string]*phases.Cluster {
	t.Helper()
	paths, err := filepath.Glob("../examples/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	out := map[string]*phases.Cluster{}
	for _, path := range paths {
		s, err := spec.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(path)] = valueOf(t, s, hostsOf(t, s), newSecrets(t))
	}
	return out
}

// text is a plan as a person would compare it.
func text(planned []phases.Planned) string {
	var b strings.Builder
	for _, p := range planned {
		fmt.Fprintf(&b, "%s\n", p.Phase.Name)
		for _, w := range p.Waves {
			for _, batch := range w.Batches {
				fmt.Fprintf(&b, "  %v\n", batch.Hosts)
				for _, name := range batch.Hosts {
					for _, s := range batch.Steps[name] {
						fmt.Fprintf(&b, "    %s %s %s: %s; %s\n", s.Key, s.Verb, s.Want.Title(), s.Why, s.Want.Digest())
					}
				}
			}
		}
	}
	return b.String()
}

func TestSameInputGivesTheSamePlan(t *testing.T) {
	for name, c := range examples(t) {
		one, two := text(planOf(t, c, phases.Up(), nil)), text(planOf(t, c, phases.Up(), nil))
		if one != two {
			t.Errorf("%s: two plans of the same input differ", name)
		}
	}
}

func TestWholePlanLeavesNothingToDo(t *testing.T) {
	for name, c := range examples(t) {
		if left := stepsOf(planOf(t, c, phases.Up(), installed(t, c))); len(left) != 0 {
			t.Errorf("%s: %d steps left, the first: %s", name, len(left), left[0].Key)
		}
	}
}

func TestPlanDoesNotChangeTheFacts(t *testing.T) {
	c := clusterOf(t, sshSpec("v1.37.2", 1, 1, ""), newSecrets(t))
	facts := installed(t, c)
	before := maps.Clone(facts)
	delete(facts, resource.Key{Host: "cp-1", Kind: resource.KindUnit, Name: "etcd.service"})
	delete(before, resource.Key{Host: "cp-1", Kind: resource.KindUnit, Name: "etcd.service"})
	if len(stepsOf(planOf(t, c, phases.Up(), facts))) == 0 || !maps.Equal(facts, before) {
		t.Error("the plan changed the facts that it was given")
	}
}

// TestCrashAfterAnyStepEndsInTheSamePlace cuts every plan after every step, and within the start
// and restart of units, and runs again.
func TestCrashAfterAnyStepEndsInTheSamePlace(t *testing.T) {
	for name, c := range examples(t) {
		crashEverywhere(t, name+" from nothing", c, nil)
	}
	secrets := newSecrets(t)
	old := clusterOf(t, sshSpec("v1.36.3", 3, 2, ""), secrets)
	facts := installed(t, old)
	crashEverywhere(t, "upgrade", clusterOf(t, sshSpec("v1.37.2", 3, 2, ""), secrets), facts)
	changed := "  kubernetes: {apiServerArgs: {event-ttl: 2h}, kubeletArgs: {max-pods: '50'}}\n  network: {kubeProxy: iptables}\n"
	crashEverywhere(t, "change", clusterOf(t, sshSpec("v1.36.3", 3, 2, changed), secrets), facts)
}

func crashEverywhere(t *testing.T, name string, c *phases.Cluster, have resource.Facts) {
	t.Helper()
	runbook := frozen(t, c, phases.Up())
	all := stepsOf(planOf(t, c, runbook, have))
	if len(all) == 0 {
		t.Fatalf("%s: nothing to do", name)
	}
	final := done(have, all)
	for i, s := range all {
		crashed := done(have, all[:i])
		check := func(where string) {
			again := stepsOf(planOf(t, c, runbook, crashed))
			if got := done(crashed, again); !maps.Equal(got, final) {
				t.Errorf("%s: a crash %s step %d of %d (%s %s) ends elsewhere", name, where, i+1, len(all), s.Verb, s.Key)
			}
		}
		check("before")
		if s.Key.Kind == resource.KindUnit {
			// The unit runs with its new inputs, but nobody could stamp it.
			half := crashed[s.Key]
			half.Exists, half.Active, half.Detail = true, true, plan.Enabled
			if s.Verb == plan.Start {
				half.Digest = ""
			}
			crashed[s.Key] = half
			check("within")
		}
	}
}

// TestCrashBetweenWriteAndRestartKeepsTheRestart is the case that hooks on change get wrong.
func TestCrashBetweenWriteAndRestartKeepsTheRestart(t *testing.T) {
	secrets := newSecrets(t)
	facts := installed(t, clusterOf(t, sshSpec("v1.37.2", 1, 0, ""), secrets))
	c := clusterOf(t, sshSpec("v1.37.2", 1, 0, "  kubernetes: {podSecurity: restricted}\n"), secrets)
	steps := stepsOf(planOf(t, c, phases.Up(), facts))
	if len(steps) != 2 || steps[0].Key.Kind != resource.KindFile || steps[1].Verb != plan.Restart {
		t.Fatalf("want a file and a restart, got %v", describe(steps))
	}
	again := stepsOf(planOf(t, c, phases.Up(), done(facts, steps[:1])))
	if len(again) != 1 || again[0].Verb != plan.Restart || again[0].Key.Name != "kube-apiserver.service" {
		t.Errorf("after the crash the plan is %v, want the restart alone", describe(again))
	}
}

func describe(steps []plan.Step) []string {
	var out []string
	for _, s := range steps {
		out = append(out, string(s.Verb)+" "+s.Key.String())
	}
	return out
}

func TestNoPlanShowsASecret(t *testing.T) {
	for name, c := range examples(t) {
		shown := text(planOf(t, c, phases.Up(), nil))
		var secrets [][]byte
		for _, a := range pki.Authorities() {
			secrets = append(secrets, c.Secrets.CA(a).KeyPEM.Reveal())
		}
		secrets = append(secrets, c.Secrets.ServiceAccount().KeyPEM.Reveal(), c.Secrets.Encryption().Key.Reveal())
		for _, r := range pki.Table(c.Spec, c.Inventory) {
			if l, ok := c.Secrets.Leaf(r.Host, r.Name); ok {
				secrets = append(secrets, l.KeyPEM.Reveal())
			}
		}
		for _, s := range secrets {
			for line := range strings.Lines(string(s)) {
				// A raw key may hold a newline: pieces of it that are short prove nothing.
				if line = strings.TrimSpace(line); len(line) >= 16 && !strings.HasPrefix(line, "---") && strings.Contains(shown, line) {
					t.Errorf("%s: the plan shows a secret", name)
				}
			}
			if strings.Contains(shown, base64.StdEncoding.EncodeToString(s)) {
				t.Errorf("%s: the plan shows a secret in base64", name)
			}
		}
	}
}

func TestResourceKeysAreUniqueInAPlan(t *testing.T) {
	for name, c := range examples(t) {
		wants, err := phases.Wants(c, phases.Up(), nil)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[resource.Key]bool{}
		for _, w := range wants {
			if seen[w.Key()] {
				t.Errorf("%s: %s twice", name, w.Key())
			}
			seen[w.Key()] = true
		}
		done := map[resource.Key]bool{}
		for _, s := range stepsOf(planOf(t, c, phases.Up(), nil)) {
			if done[s.Key] {
				t.Errorf("%s: %s is done twice", name, s.Key)
			}
			done[s.Key] = true
		}
	}
}

// TestUnitsStartOnlyAfterTheirInputsAreThere: a unit never starts on a host that lacks one
// of the host's files of the same or an earlier phase.
func TestUnitsStartOnlyAfterTheirInputsAreThere(t *testing.T) {
	for name, c := range examples(t) {
		there := map[string]map[string]bool{}
		for _, s := range stepsOf(planOf(t, c, phases.Up(), nil)) {
			host := s.Key.Host
			if there[host] == nil {
				there[host] = map[string]bool{}
			}
			if u, ok := s.Want.(resource.Unit); ok {
				for _, in := range u.Inputs {
					if !there[host][in] {
						t.Errorf("%s: %s starts before one of its inputs is on the host", name, s.Key)
					}
				}
			}
			there[host][s.Want.Digest()] = true
		}
	}
}
