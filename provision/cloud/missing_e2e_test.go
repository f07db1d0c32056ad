//go:build e2e

package cloud

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"clusterctl/provision/cloud/engine"
	"clusterctl/provision/event"
)

// TestWhatIsNotInstalledIsNamed: without the CLI, and without a cloud's plugin where none can be
// fetched, a plan and an up say what to install, and leave nothing.
func TestWhatIsNotInstalledIsNamed(t *testing.T) {
	for _, of := range []cloudCase{awsCase(), gcpCase(), vsphereCase()} {
		t.Run(of.pkg, func(t *testing.T) {
			b := newBench(t, of)
			s := b.cluster(1, 1, "")
			refused := func(want ...string) {
				t.Helper()
				_, plan := b.Preview(t.Context(), s)
				_, up := b.Ensure(t.Context(), s, event.Discard)
				for _, err := range []error{plan, up} {
					for _, w := range want {
						if err == nil || !strings.Contains(err.Error(), w) {
							t.Errorf("got %v, want %q", err, w)
						}
					}
				}
			}
			if err := os.RemoveAll(filepath.Join(b.dir, "cache", "pulumi", "plugins")); err != nil {
				t.Fatal(err)
			}
			home := filepath.Join(b.dir, "cache", "pulumi")
			refused("Pulumi has no plugin for this cloud", "PULUMI_HOME="+home+" "+home+"/bin/pulumi plugin install resource "+of.pkg+" v"+of.version+"\n")

			t.Setenv("PATH", t.TempDir())
			if err := os.Remove(filepath.Join(b.dir, "cache", "pulumi", "bin", "pulumi")); err != nil {
				t.Fatal(err)
			}
			refused("the Pulumi CLI is neither on PATH nor at "+filepath.Join(b.dir, "cache", "pulumi", "bin", "pulumi"), `run "make pulumi"`)
			_, err := b.Preview(t.Context(), s)
			if _, ok := errors.AsType[*engine.MissingError](err); !ok {
				t.Errorf("got %v", err)
			}
			b.wantMachines()
		})
	}
}
