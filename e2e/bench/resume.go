package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"clusterctl/e2e/kill"
)

const (
	kills      = 20
	localSteps = 130 // about what a bring-up of local.yaml takes
)

// measureResume kills the bring-up of local.yaml again and again.
func measureResume(ctx context.Context, b *bench) ([]row, error) {
	if os.Geteuid() != 0 {
		return nil, errors.New("local hosts need root")
	}
	spec, err := b.copySpec("local", "local")
	if err != nil {
		return nil, err
	}
	ttl := 1
	began := time.Now()
	resumed, err := kill.Resume{
		Program: b.program, Spec: spec, Kills: kills, Steps: localSteps, Rand: rand.New(rand.NewPCG(uint64(began.UnixNano()), 0)),
		Log: func(format string, args ...any) {
			if b.verbose {
				fmt.Fprintf(os.Stderr, format+"\n", args...)
			}
		},
		More: func() error { ttl++; return setEventTTL(spec, ttl) },
	}.Run(ctx)
	took := time.Since(began)
	down, cancel := context.WithTimeout(context.WithoutCancel(ctx), downTime)
	defer cancel()
	_, downErr := b.clusterctl(down, "down", spec, "--yes")
	verdict := "ok"
	if resumed != kills {
		verdict = "MISSED"
	}
	return []row{
		{"kill and resume of one bring-up", fmt.Sprintf("%d of %d", resumed, kills), fmt.Sprintf("%d of %d", kills, kills), verdict},
		figure("the same, time in all", took.Seconds(), "s", 0),
	}, errors.Join(err, downErr)
}

// setEventTTL gives the API server other arguments, so that there is something to do again.
func setEventTTL(path string, hours int) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	const after = "    version: " + kubernetesVersion + "\n"
	head, tail, found := strings.Cut(string(text), after)
	if !found {
		return fmt.Errorf("%s does not name %s", path, kubernetesVersion)
	}
	if rest, ok := strings.CutPrefix(tail, "    apiServerArgs:\n"); ok {
		_, tail, _ = strings.Cut(rest, "\n")
	}
	args := fmt.Sprintf("    apiServerArgs:\n      event-ttl: %dh0m0s\n", hours)
	return os.WriteFile(path, []byte(head+after+args+tail), 0o644)
}
