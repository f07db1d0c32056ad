package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// downTime is what taking a cluster down may take, also when the measuring was interrupted.
const downTime = 2 * time.Minute

func measureLocal(ctx context.Context, b *bench) ([]row, error) {
	cold, again, err := b.cluster(ctx, "local")
	return rows(
		figure("cold up of local.yaml", cold.Seconds(), "s", 12),
		figure("up again, 2 hosts", again.Seconds(), "s", 2),
	), err
}

func measureHA(ctx context.Context, b *bench) ([]row, error) {
	cold, again, err := b.cluster(ctx, "local-ha")
	return rows(
		figure("cold up of local-ha.yaml", cold.Seconds(), "s", 35),
		figure("up again, 5 hosts", again.Seconds(), "s", 2),
	), err
}

// rows leaves out what was not measured.
func rows(all ...row) []row {
	var out []row
	for _, r := range all {
		if !strings.HasPrefix(r.measured, "0.00 ") {
			out = append(out, r)
		}
	}
	return out
}

// cluster brings an example up from nothing and again, under a name of its own, and takes it down.
// From nothing means twice, and the shorter counts: a machine's very first up also makes the tree
// that all its local hosts start from.
func (b *bench) cluster(ctx context.Context, example string) (cold, again time.Duration, err error) {
	spec, err := b.copySpec(example, example)
	if err != nil {
		return 0, 0, err
	}
	defer b.down(ctx, spec, &err)
	if cold, err = b.clusterctl(ctx, "up", spec, "--yes"); err != nil {
		return 0, 0, err
	}
	if _, err = b.clusterctl(ctx, "down", spec, "--yes"); err != nil {
		return 0, 0, err
	}
	second, err := b.clusterctl(ctx, "up", spec, "--yes")
	if err != nil {
		return 0, 0, err
	}
	cold = min(cold, second)
	again, err = b.best(ctx, 3, "up", spec, "--yes")
	return cold, again, err
}

// down takes a cluster down, also when the measuring was interrupted.
func (b *bench) down(ctx context.Context, spec string, err *error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), downTime)
	defer cancel()
	_, downErr := b.clusterctl(ctx, "down", spec, "--yes")
	*err = errors.Join(*err, downErr)
}

// copySpec copies an example; the copy's cluster has a name of its own and does not meet one that
// somebody has made of the example itself.
func (b *bench) copySpec(example, name string) (string, error) {
	if os.Geteuid() != 0 {
		return "", errors.New("local hosts need root")
	}
	text, err := os.ReadFile(filepath.Join("examples", example+".yaml"))
	if err != nil {
		return "", err
	}
	from := "\n  name: " + example + "\n"
	if strings.Count(string(text), from) != 1 {
		return "", fmt.Errorf("examples/%s.yaml does not name its cluster %s", example, example)
	}
	dir := filepath.Join(b.work, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(dir, "cluster.yaml")
	return path, os.WriteFile(path, []byte(strings.Replace(string(text), from, "\n  name: bench-"+name+"\n", 1)), 0o644)
}
