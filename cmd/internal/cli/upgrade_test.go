package cli

import (
	"bytes"
	"strings"
	"testing"

	"clusterctl/cmd/internal/view"
	"clusterctl/phases"
	"clusterctl/provision/inventory"
)

// TestUpgradeFlagsThatMakeNoSense are found before any host is asked.
func TestUpgradeFlagsThatMakeNoSense(t *testing.T) {
	path := writeSpec(t, "cluster.yaml", "", "")
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"pool":         {[]string{"--workers", "gpu"}, "there is no such pool; the spec has: default"},
		"both":         {[]string{"--workers", "default", "--control-plane-only"}, "say one of them"},
		"budget":       {[]string{"--stuck-budget", "wait"}, "stop, skip or delete"},
		"unavailable":  {[]string{"--max-unavailable", "0"}, `need a number or a percentage such as 2 or 10%, got "0"`},
		"drain":        {[]string{"--drain-timeout", "1ms"}, "need a time from 1s to 24h"},
		"unknown":      {[]string{"--to", "v1.29.0"}, "v1.29.0"},
		"no such flag": {[]string{"--fast"}, "--fast"},
	} {
		for _, command := range [][]string{{"upgrade", path}, {"upgrade", "plan", path}} {
			var stderr bytes.Buffer
			code := Execute(t.Context(), append(command, c.args...), Streams{In: strings.NewReader(""), Out: &bytes.Buffer{}, Err: &stderr})
			if code != exitUsage || !strings.Contains(stderr.String(), c.says) {
				t.Errorf("%s: exit code %d, %s", name, code, stderr.String())
			}
		}
	}
}

func TestUpgradeFlagsTakeTheSpecsPlace(t *testing.T) {
	path := writeSpec(t, "cluster.yaml", "version: v1.37.2", "version: v1.36.3")
	o := &clusterOptions{ctx: t.Context()}
	f := &upgradeFlags{to: "1.37.2", unavailable: "25%", stuck: "skip", pools: []string{"default"}}
	s, err := o.openUpgrade(path, f, f.to)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.spec.Spec; got.Kubernetes.Version != "v1.37.2" || got.UpgradePolicy.MaxUnavailable != "25%" || got.UpgradePolicy.StuckBudget != "skip" || got.UpgradePolicy.DrainTimeout != "5m" {
		t.Errorf("spec %s, policy %+v", got.Kubernetes.Version, got.UpgradePolicy)
	}
	if s.instead != "v1.36.3" || s.command != "upgrade" {
		t.Errorf("instead of %q, command %q", s.instead, s.command)
	}
	for _, c := range []struct {
		h    inventory.Host
		want bool
	}{{inventory.Host{Role: inventory.Worker, Pool: "default"}, false}, {inventory.Host{Role: inventory.Worker, Pool: "gpu"}, true}, {inventory.Host{Role: inventory.ControlPlane}, false}} {
		if got := s.untouched(c.h); got != c.want {
			t.Errorf("%s of pool %q left as it is: %v", c.h.Role, c.h.Pool, got)
		}
	}
}

// TestDisruptionOfASingleControlPlaneIsSaid: nothing stands in for it.
func TestDisruptionOfASingleControlPlaneIsSaid(t *testing.T) {
	stages := []view.Stage{{Phase: "apiserver", Units: []string{"kube-apiserver"}, Batches: [][]string{{"cp-1"}}}}
	c := &phases.Cluster{Inventory: inventory.Inventory{Hosts: []inventory.Host{{Name: "cp-1", Role: inventory.ControlPlane}}}}
	if got := disruption(c, stages); len(got) != 1 || !strings.Contains(got[0], "does not answer while its only kube-apiserver restarts") {
		t.Errorf("disruption %q", got)
	}
	c.Inventory.Hosts = append(c.Inventory.Hosts, inventory.Host{Name: "cp-2", Role: inventory.ControlPlane})
	if got := disruption(c, stages); len(got) != 1 || !strings.Contains(got[0], "at most one server is away") {
		t.Errorf("disruption %q", got)
	}
}
