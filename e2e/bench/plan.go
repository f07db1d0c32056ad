package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"clusterctl/components/resource"
	"clusterctl/phases"
	"clusterctl/phases/state"
	"clusterctl/provision/event"
	"clusterctl/provision/spec"
	"clusterctl/provision/static"
)

// manyHosts is how many hosts the large spec has, three of them control planes.
const manyHosts = 1000

// measurePlan takes the way of the command plan, but for asking the hosts: there are none.
func measurePlan(ctx context.Context, b *bench) ([]row, error) {
	path := filepath.Join(b.work, "many.yaml")
	if err := os.WriteFile(path, []byte(manySpec()), 0o644); err != nil {
		return nil, err
	}
	built, err := b.bundle()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	s, err := spec.Load(path)
	if err != nil {
		return nil, err
	}
	inv, err := static.New().Ensure(ctx, s, event.Discard)
	if err != nil {
		return nil, err
	}
	p, err := phases.Prepare(phases.Sources{Spec: s, Inventory: inv, State: state.Open(path, "many"), Bundle: built, Now: time.Now(), Rand: rand.Reader})
	if err != nil {
		return nil, err
	}
	planned, err := phases.Plan(p.Cluster, phases.Up(), resource.Facts{}, nil)
	took := time.Since(began)
	if err != nil {
		return nil, err
	}
	steps := 0
	for _, phase := range planned {
		steps += phase.Len()
	}
	if steps < 10*manyHosts {
		return nil, fmt.Errorf("the plan for %d hosts has only %d steps", manyHosts, steps)
	}
	return []row{figure(fmt.Sprintf("plan of %d hosts, %d steps", manyHosts, steps), took.Seconds(), "s", 2)}, nil
}

func manySpec() string {
	var b strings.Builder
	fmt.Fprintf(&b, `apiVersion: clusterctl/v1alpha1
kind: Cluster
metadata:
  name: many
spec:
  kubernetes:
    version: %s
  provider:
    ssh:
      user: ops
  network:
    podCIDR: 10.128.0.0/9
  controlPlane:
    hosts:
`, kubernetesVersion)
	for i := range manyHosts {
		if i == 3 {
			b.WriteString("  workers:\n    - name: default\n      hosts:\n")
		}
		indent := "      "
		if i >= 3 {
			indent = "        "
		}
		// Addresses of a range for benchmarks (RFC 2544).
		fmt.Fprintf(&b, "%s- name: host-%d\n%s  address: 198.18.%d.%d\n", indent, i+1, indent, i/250, i%250+1)
	}
	return b.String()
}
