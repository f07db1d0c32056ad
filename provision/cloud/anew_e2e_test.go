//go:build e2e

package cloud

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"clusterctl/provision/event"
	"clusterctl/provision/spec"
)

// TestChangedMachinesAreMadeAnewOneByOne: case 36. A changed machine type concerns all etcd members;
// each goes through a replacement of its own, and the others stay as they were made until their turn.
func TestChangedMachinesAreMadeAnewOneByOne(t *testing.T) {
	for _, of := range []cloudCase{awsCase(), gcpCase(), vsphereCase()} {
		t.Run(of.pkg, func(t *testing.T) {
			b := newBench(t, of)
			b.ensure(b.cluster(3, 1, ""))
			hosts, changed := []string{"dev-cp-1", "dev-cp-2", "dev-cp-3"}, b.cluster(3, 1, of.size)
			for i, host := range hosts {
				b.wantOutdated(changed, hosts[i:])
				before := b.ids()
				p := New(b.opts) // each replacement is a run of its own
				if err := p.Discard(t.Context(), changed, host, event.Discard); err != nil {
					t.Fatal(err)
				}
				left := maps.Clone(before)
				delete(left, host)
				if got := b.ids(); !maps.Equal(got, left) {
					t.Fatalf("without %s the cloud has %v, want %v", host, got, left)
				}
				if _, err := p.Ensure(t.Context(), changed, event.Discard); err != nil {
					t.Fatal(err)
				}
				after := b.ids()
				for name, id := range before {
					if (after[name] == id) == (name == host) {
						t.Errorf("%s replaced: %s was %s and is %s", host, name, id, after[name])
					}
				}
			}
			if plan := b.changes(changed); len(plan) > 0 {
				t.Errorf("plan after the last one: %q", plan)
			}
			b.ensure(changed)
		})
	}
}

// wantOutdated checks that a plan replaces these hosts and no more, and that up refuses.
func (b *bench) wantOutdated(s *spec.Cluster, hosts []string) {
	b.t.Helper()
	var got []string
	for _, line := range b.changes(s) {
		if name, ok := strings.CutPrefix(line, "replace host "); ok {
			name, _, _ = strings.Cut(name, " ")
			got = append(got, name)
		}
	}
	if slices.Sort(got); !slices.Equal(got, hosts) {
		b.t.Fatalf("the plan replaces %v, want %v", got, hosts)
	}
	_, err := b.Ensure(b.t.Context(), s, event.Discard)
	refused, ok := errors.AsType[*RefusedError](err)
	if !ok || !strings.Contains(refused.Text, "clusterctl replace "+s.Path+" HOST --force") {
		b.t.Fatalf("up: %v", err)
	}
}
