package phases_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"clusterctl/components/resource"
	"clusterctl/phases"
	"clusterctl/phases/plan"
	"clusterctl/phases/upgrade"
)

// emulation is a cluster of the old version, and what its spec may say next.
type emulation struct {
	old, soak, raise *phases.Cluster
	facts            resource.Facts // of the old version
}

func newEmulation(t *testing.T) emulation {
	t.Helper()
	secrets := newSecrets(t)
	const emulate = "  upgradePolicy: {emulate: true}\n"
	out := emulation{
		old:  clusterOf(t, sshSpec(oldVersion, 3, 2, emulate), secrets),
		soak: clusterOf(t, sshSpec(newVersion, 3, 2, emulate), secrets), raise: clusterOf(t, sshSpec(newVersion, 3, 2, ""), secrets),
	}
	out.facts = installed(t, out.old)
	for _, h := range out.old.Inventory.Hosts {
		node := resource.Scheduling{Host: h.Name}
		out.facts[node.Key()] = resource.Fact{Exists: true, Digest: node.Digest()}
	}
	out.soak.FormerBinaries = out.old.Binaries
	return out
}

// seen gives the cluster as it is planned where that runs.
func seen(t *testing.T, c *phases.Cluster, m moment) *phases.Cluster {
	t.Helper()
	next := *c
	next.Running, next.Emulating, next.Leader = copied(m.running), copied(m.emulating), "cp-2"
	var err error
	if next.Release.Former, err = phases.Former(&next); err != nil {
		t.Fatal(err)
	}
	return &next
}

func (e emulation) start() moment { return moment{"the start", runs(e.old), phases.Versions{}} }

// moments are what runs behind each restart of a plan, with the facts there.
func moments(c *phases.Cluster, planned []phases.Planned, facts resource.Facts) (out []moment, behind []resource.Facts) {
	steps := stepsOf(planned)
	for i, s := range steps {
		if s.Verb == plan.Restart {
			behind = append(behind, done(facts, steps[:i+1]))
		}
	}
	return record(c, planned), behind
}

// behaves is what programs behave as.
func (m moment) behaves() phases.Versions {
	out := copied(m.running)
	for host, units := range m.emulating {
		for unit, minor := range units {
			if minor != "" {
				out[host][unit] = "v" + minor + ".0"
			}
		}
	}
	return out
}

// walk plans c from a moment and holds every moment of the way to the skew rules, by what programs are
// and by what they behave as. It gives the end, where nothing may be left to do.
func walk(t *testing.T, name string, c *phases.Cluster, from moment, facts resource.Facts) (moment, resource.Facts) {
	t.Helper()
	c = seen(t, c, from)
	planned := planOf(t, c, phases.Up(), facts)
	end := from
	for _, m := range record(c, planned) {
		for _, bad := range slices.Concat(skews(m.running, true), skews(m.behaves(), true)) {
			t.Errorf("%s from %s, after %s: %s", name, from.event, m.event, bad)
		}
		end = m
	}
	facts = done(facts, stepsOf(planned))
	if left := stepsOf(planOf(t, seen(t, c, end), phases.Up(), facts)); len(left) > 0 {
		t.Errorf("%s from %s: %d steps are left, the first %s %s", name, from.event, len(left), left[0].Verb, left[0].Key)
	}
	return end, facts
}

// way is Find's answer for a cluster at a moment.
func way(t *testing.T, c *phases.Cluster, m moment) error {
	t.Helper()
	c = seen(t, c, m)
	_, err := upgrade.Find(upgrade.Request{Running: c.Running, Emulating: c.Emulating, To: c.Release})
	return err
}

func TestAnEmulatedUpgradeMovesTheControlPlanesOwnProgramsAlone(t *testing.T) {
	e := newEmulation(t)
	c := seen(t, e.soak, e.start())
	var events []string
	for _, m := range record(c, planOf(t, c, phases.Up(), e.facts)) {
		events = append(events, m.event)
	}
	want := []string{"kube-apiserver on cp-1", "kube-apiserver on cp-2", "kube-apiserver on cp-3"}
	for _, h := range planes {
		want = append(want, "kube-controller-manager on "+h, "kube-scheduler on "+h)
	}
	if !slices.Equal(events, want) {
		t.Errorf("restarts\n%s\nwant\n%s", strings.Join(events, "\n"), strings.Join(want, "\n"))
	}
}

// TestGoingBackIsOpenAtEveryMomentUntilTheRaise and leads to where the cluster came from; to go on
// instead ends where the control plane emulates.
func TestGoingBackIsOpenAtEveryMomentUntilTheRaise(t *testing.T) {
	e := newEmulation(t)
	c := seen(t, e.soak, e.start())
	ms, facts := moments(c, planOf(t, c, phases.Up(), e.facts), e.facts)
	for i, m := range ms {
		if err := way(t, e.old, m); err != nil {
			t.Errorf("after %s the way back is closed: %v", m.event, err)
		}
		if end, _ := walk(t, "going back", e.old, m, facts[i]); !maps.EqualFunc(end.running, runs(e.old), maps.Equal) {
			t.Errorf("back from %s: %v", m.event, end.running)
		}
		if end, _ := walk(t, "going on", e.soak, m, facts[i]); !maps.EqualFunc(end.running, ms[len(ms)-1].running, maps.Equal) {
			t.Errorf("on from %s: %v", m.event, end.running)
		}
	}
}

// TestARaiseEndsTheWayBack with its first restart, and the new version runs everywhere.
func TestARaiseEndsTheWayBack(t *testing.T) {
	e := newEmulation(t)
	soaked, facts := walk(t, "upgrade", e.soak, e.start(), e.facts)
	c := seen(t, e.raise, soaked)
	ms, behind := moments(c, planOf(t, c, phases.Up(), facts), facts)
	for i, m := range ms {
		if _, ok := errors.AsType[*upgrade.RefusedError](way(t, e.old, m)); !ok {
			t.Errorf("after %s the way back is open", m.event)
		}
		if !strings.HasPrefix(m.event, "kubelet") && !strings.HasPrefix(m.event, "kube-proxy") {
			continue // the law of all upgrades has the rest
		}
		if end, _ := walk(t, "raising", e.raise, m, behind[i]); !maps.EqualFunc(end.running, runs(e.raise), maps.Equal) {
			t.Errorf("raised from %s: %v", m.event, end.running)
		}
	}
	end, _ := walk(t, "raising", e.raise, soaked, facts)
	if !maps.EqualFunc(end.running, runs(e.raise), maps.Equal) || !maps.EqualFunc(end.behaves(), end.running, maps.Equal) {
		t.Errorf("the raise ends with %v, which behaves as %v", end.running, end.behaves())
	}
	if !strings.HasPrefix(ms[0].event, "etcd") || !slices.ContainsFunc(ms, func(m moment) bool { return m.event == "kube-apiserver on cp-3" }) {
		t.Errorf("the raise begins with %s", ms[0].event)
	}
}

// TestControllersGoFirstOnTheWayBack: none is ever newer than an API server that it reaches.
func TestControllersGoFirstOnTheWayBack(t *testing.T) {
	e := newEmulation(t)
	soaked, facts := walk(t, "upgrade", e.soak, e.start(), e.facts)
	c := seen(t, e.old, soaked)
	var units []string
	for _, m := range record(c, planOf(t, c, phases.Up(), facts)) {
		units = append(units, strings.Fields(m.event)[0])
	}
	want := []string{"kube-controller-manager", "kube-scheduler", "kube-controller-manager", "kube-scheduler", "kube-controller-manager", "kube-scheduler",
		"kube-apiserver", "kube-apiserver", "kube-apiserver"}
	if !slices.Equal(units, want) {
		t.Errorf("restarts %v, want %v", units, want)
	}
}
