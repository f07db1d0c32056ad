package phases_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"clusterctl/components"
	"clusterctl/components/release"
	"clusterctl/components/resource"
	"clusterctl/phases"
	"clusterctl/phases/plan"
	"clusterctl/phases/state"
	"clusterctl/pki"
	"clusterctl/provision/cloud/layout"
	"clusterctl/provision/inventory"
	"clusterctl/provision/local"
	"clusterctl/provision/spec"
	"clusterctl/provision/static"
)

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// sshSpec is a spec of SSH hosts with addresses of documentation and benchmarking ranges; lines are further ones
// of spec.
func sshSpec(version string, planes, workers int, lines string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: clusterctl/v1alpha1\nkind: Cluster\nmetadata: {name: dev}\nspec:\n  provider: {ssh: {}}\n")
	if !strings.Contains(lines, "kubernetes:") {
		lines += "  kubernetes: {}\n"
	}
	b.WriteString(strings.Replace(lines, "kubernetes: {", "kubernetes: {version: "+version+", ", 1))
	b.WriteString("  controlPlane:\n    hosts:\n")
	for i := range planes {
		fmt.Fprintf(&b, "      - {name: cp-%d, address: 192.0.2.%d}\n", i+1, 11+i)
	}
	if workers > 0 {
		b.WriteString("  workers:\n  - name: default\n    hosts:\n")
	}
	for i := range workers {
		fmt.Fprintf(&b, "      - {name: worker-%d, address: 198.18.%d.%d}\n", i+1, i/200, 1+i%200)
	}
	return b.String()
}

// parse reads a spec and gives its hosts.
func parse(t testing.TB, text string) (*spec.Cluster, inventory.Inventory) {
	t.Helper()
	s, err := spec.Parse("spec.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s, hostsOf(t, s)
}

func hostsOf(t testing.TB, s *spec.Cluster) inventory.Inventory {
	t.Helper()
	plan := static.Plan
	if s.Spec.Provider.Local != nil {
		plan = local.Plan
	}
	if s.Spec.Provider.Cloud() != nil {
		plan = layout.Planned
	}
	inv, err := plan(s)
	if err != nil {
		t.Fatal(err)
	}
	return inv
}

func newSecrets(t testing.TB) *pki.Secrets {
	t.Helper()
	secrets, err := pki.New(pki.Options{Cluster: "dev"}, noon, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return secrets
}

// clusterOf gives the cluster value of a spec; certificates that secrets lack are issued.
func clusterOf(t testing.TB, text string, secrets *pki.Secrets) *phases.Cluster {
	t.Helper()
	s, inv := parse(t, text)
	return valueOf(t, s, inv, secrets)
}

func valueOf(t testing.TB, s *spec.Cluster, inv inventory.Inventory, secrets *pki.Secrets) *phases.Cluster {
	t.Helper()
	rel, err := release.For(s.Spec.Kubernetes.Version)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := secrets.Ensure(pki.Table(s, inv), noon, rand.Reader); err != nil {
		t.Fatal(err)
	}
	id := components.Identity{EtcdToken: secrets.EtcdToken()}
	var members []state.Member
	for _, h := range inv.ControlPlanes() {
		url := components.URL("https", h.Address.String(), components.EtcdPeerPort)
		members = append(members, state.Member{Name: h.Name, PeerURL: url})
		id.EtcdMembers = append(id.EtcdMembers, components.EtcdMember{Name: h.Name, PeerURL: url})
	}
	id.EtcdClusterID = state.EtcdClusterID(id.EtcdToken, members)
	return &phases.Cluster{Spec: s, Inventory: inv, Release: rel, Secrets: secrets, Identity: id, Binaries: binaries(rel)}
}

// binaries is a bundle of a release whose artifacts are made up: their digests follow from name
// and version, and they cannot be read.
func binaries(rel release.Release) map[string]components.Binary {
	out := map[string]components.Binary{}
	for _, c := range rel.Components {
		for _, a := range c.Artifacts {
			sum := resource.Sum([]byte(a.Name + " " + c.Version))
			b := components.Binary{
				Name: a.Name, Version: c.Version, SHA256: sum, Size: int64(len(a.Name)) << 20, Reference: a.Image.Reference,
				Open: func() (io.ReadCloser, error) { return nil, errors.New("a made-up artifact has no bytes") },
			}
			if a.Kind == release.Image {
				b.ImageDigest = "sha256:" + resource.Sum([]byte(sum))
			}
			out[a.Name] = b
		}
	}
	return out
}

func planOf(t testing.TB, c *phases.Cluster, runbook []phases.Phase, facts resource.Facts) []phases.Planned {
	t.Helper()
	planned, err := phases.Plan(c, runbook, facts, nil)
	if err != nil {
		t.Fatal(err)
	}
	return planned
}

// stepsOf gives a plan's steps in the order in which they are done, hosts of a batch one after
// the other.
func stepsOf(planned []phases.Planned) []plan.Step {
	var out []plan.Step
	for _, b := range batchesOf(planned) {
		for _, name := range b.Hosts {
			out = append(out, b.Steps[name]...)
		}
	}
	return out
}

func batchesOf(planned []phases.Planned) []plan.Batch {
	var out []plan.Batch
	for _, p := range planned {
		for _, w := range p.Waves {
			out = append(out, w.Batches...)
		}
	}
	return out
}

// done is the model after steps.
func done(facts resource.Facts, steps []plan.Step) resource.Facts {
	next := resource.Facts{}
	for k, v := range facts {
		next[k] = v
	}
	for _, s := range steps {
		next[s.Key] = plan.Modelled(s)
	}
	return next
}

// installed is the model of a cluster after its first up.
func installed(t testing.TB, c *phases.Cluster) resource.Facts {
	t.Helper()
	return done(nil, stepsOf(planOf(t, c, phases.Up(), nil)))
}

// frozen is a runbook whose resources were computed once: laws about order do not need them anew.
func frozen(t testing.TB, c *phases.Cluster, runbook []phases.Phase) []phases.Phase {
	t.Helper()
	var out []phases.Phase
	for _, p := range runbook {
		waves, err := p.Waves(c, nil)
		if err != nil {
			t.Fatal(err)
		}
		p.Waves = func(*phases.Cluster, map[string]bool) ([]phases.Wave, error) { return waves, nil }
		out = append(out, p)
	}
	return out
}
