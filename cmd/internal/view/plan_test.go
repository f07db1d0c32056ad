package view

import (
	"bytes"
	"strings"
	"testing"

	"clusterctl/e2e/golden"
)

func examplePlan() Plan {
	etcd := []Step{
		{Create, "directory", "/var/lib/etcd/", ""},
		{Create, "file", "/etc/etcd/etcd.yaml", "missing"},
		{Start, "unit", "etcd.service", "not running"},
	}
	return Plan{
		Cluster: "dev",
		Provider: []Change{
			{Create, "host", "worker-2", "10.89.0.6"},
			{Keep, "host", "worker-1", ""},
			{Delete, "host", "old-1", "not in the spec"},
		},
		Phases: []PhasePlan{
			{Name: "os", Doc: "kernel settings and modules", Hosts: []HostPlan{{Host: "cp-1"}}},
			{Name: "etcd", Doc: "the quorum of etcd members", Hosts: []HostPlan{
				{"cp-1", etcd}, {"cp-2", etcd}, {"cp-3", etcd[1:]},
			}},
			{Name: "addons", Doc: "what the cluster needs inside", Hosts: []HostPlan{
				{"", []Step{{Update, "manifest", "Deployment kube-system/coredns", "image differs\nin 2 fields"}}},
			}},
			{Name: "nodes", Hosts: []HostPlan{
				{"worker-1", []Step{{Restart, "unit", "kubelet.service", "its inputs changed"}, {"drain", "node", "worker-1", ""}}},
			}},
		},
		Notes: []string{"the plan of worker-2 follows once it exists"},
	}
}

func TestPlan(t *testing.T) {
	goldens(t, "plan", func(o Output) error { return o.Plan(examplePlan(), false) }, "txt", "color.txt", "json")
}

func TestPlanFullShowsEveryHost(t *testing.T) {
	var b bytes.Buffer
	if err := (Output{W: &b}).Plan(examplePlan(), true); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "testdata/plan-full.txt", b.String())
}

func TestPlanWithoutChanges(t *testing.T) {
	p := Plan{
		Cluster:  "dev",
		Provider: []Change{{Verb: Keep, Kind: "host", Name: "cp-1"}},
		Phases:   []PhasePlan{{Name: "os", Hosts: []HostPlan{{Host: "cp-1"}}}},
	}
	goldens(t, "plan-empty", func(o Output) error { return o.Plan(p, false) }, "txt", "json")
}

func TestPlanFoldsManyHosts(t *testing.T) {
	var hosts []HostPlan
	for _, name := range strings.Fields("w-1 w-2 w-3 w-4 w-5 w-6 w-7 w-8") {
		hosts = append(hosts, HostPlan{name, []Step{{Create, "file", "/etc/a", ""}}})
	}
	got := phaseText(false, PhasePlan{Name: "nodes", Hosts: hosts}, false)
	want := "nodes\n  w-1, w-2, w-3, w-4, w-5, and 3 more: 1 step each\n    + create file /etc/a\n"
	if got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
