//go:build e2e

package preflight

import (
	"context"
	"log/slog"
	"os"
	"testing"
	"time"

	"clusterctl/phases/observe"
	"clusterctl/provision/event"
	"clusterctl/provision/host/sshhost"
	"clusterctl/provision/local"
	"clusterctl/provision/spec"
)

// Hosts that the local provider makes are fit, and are asked in one quick round trip. Needs root
// and CLUSTERCTL_RUNC, the path of a runc binary.
func TestLocalHostsAreFit(t *testing.T) {
	runc := os.Getenv("CLUSTERCTL_RUNC")
	if runc == "" {
		t.Skip("CLUSTERCTL_RUNC is not set")
	}
	cache := os.Getenv("CLUSTERCTL_CACHE")
	if cache == "" {
		cache = "/var/cache/clusterctl-dev"
	}
	text, err := spec.New("local", "fitness", "")
	if err != nil {
		t.Fatal(err)
	}
	s, err := spec.Parse("fitness.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	p := local.New(local.Options{StateDir: t.TempDir(), CacheDir: cache, Runc: runc, Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() {
		if err := p.Destroy(context.Background(), s, event.Discard); err != nil {
			t.Errorf("destroy: %v", err)
		}
	})
	inv, err := p.Ensure(t.Context(), s, event.Discard)
	if err != nil {
		t.Fatal(err)
	}
	in := Input{Spec: s, Inventory: inv, Reports: map[string]observe.Report{}, Arch: "amd64", Need: 500 << 20}
	for _, h := range inv.Hosts {
		handle := sshhost.New(h, sshhost.Options{})
		t.Cleanup(func() { handle.Close() })
		for _, round := range []string{"first, with login", "again"} {
			began := time.Now()
			_, report, err := observe.Host(t.Context(), handle, nil, true)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s, %s: %v", h.Name, round, time.Since(began))
			in.Reports[h.Name] = report
		}
		t.Logf("%+v", in.Reports[h.Name])
	}
	findings := Run(in)
	for _, f := range findings {
		t.Log(f)
	}
	if err := Verdict(findings); err != nil {
		t.Error(err)
	}
}
