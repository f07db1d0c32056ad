//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"clusterctl/e2e/kill"
	"clusterctl/phases/state"
	"clusterctl/pki"
)

// TestUpGoesOnAfterTwentyKills kills the program twenty times in one bring-up, and has it end in the
// state of an undisturbed run.
func TestUpGoesOnAfterTwentyKills(t *testing.T) {
	text, err := os.ReadFile("../examples/local.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c := newCluster(t, "e2e-resume", replace(t, replace(t, string(text), "\n  name: local\n", "\n  name: e2e-resume\n"),
		"    version: "+kubernetesVersion+"\n", "    version: "+kubernetesVersion+"\n    apiServerArgs:\n      event-ttl: 1h0m0s\n"))
	c.upWithKills(t, 20)
	c.cli(t, "plan", c.spec, "--detailed-exitcode").exits(t, 0).says(t, "No changes")
	c.cli(t, "status", c.spec).says(t, kubernetesVersion)
	if s := decode[statusAnswer](t, c.cli(t, "status", c.spec, "-o", "json")); s.UnfinishedRun != "" {
		t.Errorf("after all there is an unfinished run: %s", s.UnfinishedRun)
	}
	c.heals(t)
	c.nothingHalfWritten(t)
	eventually(t, time.Minute, "all nodes are Ready", func(ctx context.Context) error {
		return c.nodesReady(ctx, c.client(t), c.inventory(t).Names()...)
	})
}

// upWithKills brings the cluster up and kills the program as many times on the way. Its spec sets the API
// servers' event-ttl to 1h0m0s: when the cluster is up before all kills are spent, that changes.
func (c *cluster) upWithKills(t *testing.T, kills int) {
	t.Helper()
	plan := decode[planAnswer](t, c.cli(t, "plan", c.spec, "-o", "json").exits(t, 0))
	// The authorities and the etcd cluster that the first run which came so far decided on.
	var founded string
	hours := 1
	resumed, err := kill.Resume{
		Program: shared.program, Spec: c.spec, Env: c.env, Kills: kills, Steps: plan.Summary.Total, Rand: rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0)),
		Log: func(format string, args ...any) {
			t.Logf(format, args...)
			founded = c.sameFounding(t, founded)
		},
		More: func() error {
			c.edit(t, fmt.Sprintf("event-ttl: %dh", hours), fmt.Sprintf("event-ttl: %dh", hours+1))
			hours++
			return nil
		},
	}.Run(t.Context())
	t.Logf("kill and resume: %d of %d", resumed, kills)
	if err != nil || resumed != kills {
		t.Fatal(err)
	}
	c.sameFounding(t, founded)
}

// sameFounding gives what makes the cluster this one, and fails when that is not what it was.
func (c *cluster) sameFounding(t *testing.T, before string) string {
	t.Helper()
	s, found, err := c.state().Secrets()
	if err != nil {
		t.Fatalf("the secrets cannot be read: %v", err)
	}
	id, foundID, err := c.state().Identity()
	if err != nil {
		t.Fatalf("the identity cannot be read: %v", err)
	}
	if !found {
		if before != "" {
			t.Fatal("the secrets are gone")
		}
		return ""
	}
	now := founding(s, id, foundID)
	if before != "" && now != before && !strings.HasPrefix(now, before) {
		t.Fatalf("founded anew:\n%s\nwas\n%s", now, before)
	}
	return now
}

// founding has the identity last: it is stored after the secrets.
func founding(s *pki.Secrets, id state.Identity, found bool) string {
	out := "uid " + s.ClusterUID()
	for _, name := range pki.Authorities() {
		out += "\n" + string(s.CA(name).CertPEM)
	}
	if found {
		out += "\netcd " + id.EtcdClusterID
	}
	return out
}

// nothingHalfWritten looks for what a killed run left in the state and on the hosts.
func (c *cluster) nothingHalfWritten(t *testing.T) {
	t.Helper()
	for _, path := range glob(t, filepath.Join(c.stateDir(), ".*")) {
		t.Errorf("left in the state: %s", path)
	}
	for _, name := range c.inventory(t).Names() {
		if got := c.sh(t, name, "find / -xdev \\( -name '.*clusterctl*' -o -name '*.clusterctl-new' -o -path /run/clusterctl.lock \\) -not -path '/proc/*'"); got != "" {
			t.Errorf("left on %s: %s", name, got)
		}
	}
}
