//go:build e2e

package preflight

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"clusterctl/phases/observe"
	"clusterctl/provision/event"
	"clusterctl/provision/host/sshhost"
	"clusterctl/provision/local"
	"clusterctl/provision/local/localtest"
	"clusterctl/provision/spec"
)

// Hosts that the local provider makes are fit, and are asked in one quick round trip. Needs root
// and a built bundle.
func TestLocalHostsAreFit(t *testing.T) {
	cache, runc := localtest.Tools(t)
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
