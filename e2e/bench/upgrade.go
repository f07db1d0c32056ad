package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"clusterctl/e2e/load"
	"clusterctl/phases/state"
	"clusterctl/provision/host"
	"clusterctl/provision/host/sshhost"
)

// formerVersion is the minor version before the one that the examples name.
const formerVersion = "v1.36.3"

// measureUpgrade moves local-ha from the former minor version to the examples' while a client
// writes and reads through a worker's balancer once every 50 ms.
func measureUpgrade(ctx context.Context, b *bench) (out []row, err error) {
	path, err := b.copySpec("local-ha", "upgrade")
	if err != nil {
		return nil, err
	}
	defer b.down(ctx, path, &err)
	if err := edit(path, kubernetesVersion, formerVersion); err != nil {
		return nil, err
	}
	if _, err := b.clusterctl(ctx, "up", path, "--yes"); err != nil {
		return nil, err
	}
	if err := edit(path, formerVersion, kubernetesVersion); err != nil {
		return nil, err
	}
	dir := state.Open(path, "bench-upgrade")
	inv, _, err := dir.Inventory()
	if err != nil {
		return nil, err
	}
	pool := host.NewPool(inv, sshhost.NewFleet(sshhost.Options{}).Open)
	defer pool.Close()
	h, err := pool.Get(inv.Workers()[0].Name)
	if err != nil {
		return nil, err
	}
	api, err := load.Balanced(filepath.Join(dir.Path(), "admin.kubeconfig"), h)
	if err != nil {
		return nil, err
	}
	client, err := load.Start(ctx, api, 50*time.Millisecond, time.Second)
	if err != nil {
		return nil, err
	}
	took, err := b.clusterctl(ctx, "upgrade", path, "--yes")
	seen := client.End()
	if err != nil {
		return nil, err
	}
	failed := row{figure: fmt.Sprintf("failed of %d reads and writes, %d tried again", seen.Requests, seen.Retried), measured: fmt.Sprint(seen.Failures), target: "0", verdict: "ok"}
	if seen.Failures > 0 {
		failed.verdict = fmt.Sprintf("MISSED: %v", seen.Err)
	}
	return []row{
		figure("upgrade of local-ha.yaml, "+formerVersion+" to "+kubernetesVersion, took.Seconds(), "s", 150), failed,
		figure("longest time without one, until "+seen.Ended.UTC().Format(time.TimeOnly), seen.Longest.Seconds(), "s", 1),
	}, nil
}

// edit replaces the one place of a text in a file.
func edit(path, from, to string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if n := strings.Count(string(text), from); n != 1 {
		return fmt.Errorf("%s has %q %d times, want once", path, from, n)
	}
	return os.WriteFile(path, []byte(strings.Replace(string(text), from, to, 1)), 0o644)
}
