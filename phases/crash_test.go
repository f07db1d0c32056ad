package phases

import (
	"maps"
	"testing"

	"clusterctl/components/resource"
	"clusterctl/phases/health"
	"clusterctl/phases/plan"
	"clusterctl/provision/inventory"
)

func TestRestartCountsAreReadOfSeveralUnits(t *testing.T) {
	got := restartCounts([]byte("NRestarts=3\nId=kubelet.service\n\nId=kube-proxy.service\nNRestarts=0\n\nId=not-there.service\n"))
	if want := map[string]int{"kubelet.service": 3, "kube-proxy.service": 0}; !maps.Equal(got, want) {
		t.Errorf("read %v, want %v", got, want)
	}
}

// TestOnlyAfterARestartIsAHostGivenUp: what crashes before it is what the restart is to mend, and what
// starts for the first time may need others that start beside it.
func TestOnlyAfterARestartIsAHostGivenUp(t *testing.T) {
	inv := inventory.Inventory{Hosts: []inventory.Host{{Name: "old"}, {Name: "new"}}}
	e := &Env{Cluster: &Cluster{Inventory: inv}}
	steps := map[string][]plan.Step{}
	for name, verb := range map[string]plan.Verb{"old": plan.Restart, "new": plan.Start} {
		u := resource.Unit{Host: name, Name: "kube-scheduler.service"}
		steps[name] = []plan.Step{{Key: u.Key(), Verb: verb, Want: u}}
	}
	b := plan.Batch{Hosts: inv.Names(), Steps: steps}
	gate := func(_ *Env, h inventory.Host) []health.Condition { return []health.Condition{{Host: h.Name}} }
	for _, c := range eachHost(e, b, gate) {
		if c.Hopeless != nil {
			t.Errorf("%s may be given up before the restart", c.Host)
		}
	}
	after := batchGates(e, PlannedWave{Wave: Wave{Restarted: gate}, Batches: []plan.Batch{b}}, b)
	if len(after) != 2 {
		t.Fatalf("%d conditions, want 2", len(after))
	}
	for _, c := range after {
		if given := c.Hopeless != nil; given != (c.Host == "old") {
			t.Errorf("after the batch %s may be given up: %t", c.Host, given)
		}
	}
}
