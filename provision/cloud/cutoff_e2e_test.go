//go:build e2e

package cloud

import (
	"slices"
	"strings"
	"testing"

	"clusterctl/provision/cloud/standin"
	"clusterctl/provision/event"
)

// TestWhateverWasCutOffIsMadeOnce: case 33, for everything that a cloud would make twice or refuse to
// make again. The engine is killed each time after the cloud has made such a thing, and before it can
// note so; the next run finds it and goes on, until the cluster is there, once.
func TestWhateverWasCutOffIsMadeOnce(t *testing.T) {
	for _, of := range []cloudCase{awsCase(), gcpCase(), vsphereCase()} {
		t.Run(of.pkg, func(t *testing.T) {
			whole := newBench(t, of)
			whole.ensure(whole.cluster(1, 1, ""))
			want := whole.sought()

			b := newBench(t, of)
			b.opts.Env = append(b.opts.Env, "PULUMI_PARALLEL=1") // nothing else is under way when it dies
			s, faults := b.cluster(1, 1, ""), map[string]standin.Fault{}
			for i, key := range want { // one of each type
				if typ, _, _ := strings.Cut(key, "::"); i == 0 || !strings.HasPrefix(want[i-1], typ+"::") {
					faults["create "+key] = standin.Killed
				}
			}
			b.faults(faults)
			for range faults {
				if _, err := b.Ensure(t.Context(), s, event.Discard); err == nil {
					t.Fatal("the engine was to be killed and was not")
				}
			}
			b.ensure(s)
			if got := b.sought(); !slices.Equal(got, want) {
				t.Errorf("the cloud has\n%q, want\n%q", got, want)
			}
			if state, err := b.engine(s).State(t.Context()); err != nil || len(state.Pending) > 0 {
				t.Errorf("in doubt: %v %v", state.Pending, err)
			}
			if plan := b.changes(s); len(plan) > 0 {
				t.Errorf("plan after that: %q", plan)
			}
		})
	}
}

// sought are the things in the cloud that are looked for when their making was cut off, sorted.
func (b *bench) sought() []string {
	b.t.Helper()
	kd, err := kindOf(b.cluster(1, 1, ""))
	if err != nil {
		b.t.Fatal(err)
	}
	things, err := b.world.Things()
	if err != nil {
		b.t.Fatal(err)
	}
	var out []string
	for _, th := range things {
		if kd.sought(th.Type) {
			out = append(out, th.Type+"::"+th.Name)
		}
	}
	slices.Sort(out)
	return out
}
