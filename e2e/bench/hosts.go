package main

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"clusterctl/e2e/sim"
	"clusterctl/phases"
	"clusterctl/phases/state"
	"clusterctl/provision/event"
	"clusterctl/provision/spec"
	"clusterctl/provision/static"

	"golang.org/x/crypto/ssh"
)

// measureHosts runs plan and an up that has nothing to do against hosts that are SSH servers in this
// process: half as many first, to see how the time grows.
func measureHosts(ctx context.Context, b *bench) ([]row, error) {
	half, err := b.simulated(ctx, manyHosts/2)
	if err != nil {
		return nil, err
	}
	full, err := b.simulated(ctx, manyHosts)
	if err != nil {
		return nil, err
	}
	return []row{
		figure(fmt.Sprintf("plan, %d simulated hosts", manyHosts), full.plan.Seconds(), "s", 30),
		figure(fmt.Sprintf("up without changes, %d simulated hosts", manyHosts), full.up.Seconds(), "s", 30),
		figure("processor time of that up", full.cpu.Seconds(), "s", 0),
		figure("the same, times that of half as many", full.cpu.Seconds()/half.cpu.Seconds(), "", 2.5),
		figure("memory with so many hosts", float64(full.rss)/1e6, "MB", 300),
		figure("most sessions open on one host", float64(full.sessions), "", 8),
		figure("logins a host, both runs", float64(full.logins)/manyHosts, "", 0),
	}, nil
}

// simulation is what was measured with so many hosts.
type simulation struct {
	plan, up, cpu    time.Duration
	rss              int64
	sessions, logins int
}

func (b *bench) simulated(ctx context.Context, hosts int) (out simulation, err error) {
	cluster, err := sim.Listen(ctx, hosts)
	if err != nil {
		return out, err
	}
	defer cluster.Close()
	path, err := b.simulatedSpec(cluster, hosts)
	if err != nil {
		return out, err
	}
	if err := b.settle(ctx, cluster, path); err != nil {
		return out, err
	}
	own := *b // what 1,000 hosts take is a figure of its own
	own.maxRSS = 0
	if out.plan, err = own.clusterctl(ctx, "plan", path, "--detailed-exitcode"); err != nil {
		return out, err
	}
	if out.up, err = own.clusterctl(ctx, "up", path, "--yes"); err != nil {
		return out, err
	}
	out.cpu = own.cpu
	out.rss, out.sessions, out.logins = own.maxRSS, cluster.MostSessions(), cluster.Logins()
	return out, nil
}

// settle stores the state of the cluster and has the hosts be what it wants.
func (b *bench) settle(ctx context.Context, cluster *sim.Cluster, path string) error {
	s, err := spec.Load(path)
	if err != nil {
		return err
	}
	built, err := b.bundle()
	if err != nil {
		return err
	}
	inv, err := static.New().Ensure(ctx, s, event.Discard)
	if err != nil {
		return err
	}
	dir := state.Open(path, s.Metadata.Name)
	p, err := phases.Prepare(phases.Sources{Spec: s, Inventory: inv, State: dir, Bundle: built, Now: time.Now(), Rand: rand.Reader})
	if err != nil {
		return err
	}
	if err := p.Save(dir); err != nil {
		return err
	}
	machine, err := sim.Machine()
	if err != nil {
		return err
	}
	return cluster.Settle(ctx, p.Cluster, machine)
}

// simulatedSpec writes a spec of hosts that all are this machine, each on a port of its own.
func (b *bench) simulatedSpec(cluster *sim.Cluster, hosts int) (string, error) {
	dir := filepath.Join(b.work, fmt.Sprintf("hosts-%d", hosts))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	key := filepath.Join(dir, "key")
	if err := writeKey(key); err != nil {
		return "", err
	}
	var text strings.Builder
	fmt.Fprintf(&text, "apiVersion: clusterctl/v1alpha1\nkind: Cluster\nmetadata: {name: sim-%d}\nspec:\n  kubernetes: {version: %s}\n"+
		"  provider: {ssh: {insecureHostKey: true, keyPath: %q}}\n  network: {podCIDR: 10.128.0.0/9}\n  controlPlane:\n    hosts:\n", hosts, kubernetesVersion, key)
	for i := range hosts {
		if i == 3 {
			text.WriteString("  workers:\n  - name: default\n    hosts:\n")
		}
		// Addresses of a range for benchmarks (RFC 2544).
		fmt.Fprintf(&text, "    - {name: host-%d, address: 127.0.0.1, port: %d, privateAddress: 198.18.%d.%d}\n", i+1, cluster.Port(i), i/250, i%250+1)
	}
	path := filepath.Join(dir, "cluster.yaml")
	return path, os.WriteFile(path, []byte(text.String()), 0o644)
}

func writeKey(path string) error {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		return err
	}
	return os.WriteFile(path, pem.EncodeToMemory(block), 0o600)
}
