package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"clusterctl/components/bundle"
	"clusterctl/components/release"
)

// kubernetesVersion is what the examples name.
const kubernetesVersion = "v1.37.2"

// clusterctl runs the program and gives the time that it took.
func (b *bench) clusterctl(ctx context.Context, args ...string) (time.Duration, error) {
	cmd := exec.CommandContext(ctx, b.program, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if b.verbose {
		cmd.Stderr = io.MultiWriter(os.Stderr, &out)
	}
	began := time.Now()
	err := cmd.Run()
	took := time.Since(began)
	if cmd.ProcessState != nil {
		b.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
			if rss := u.Maxrss * 1024; rss > b.maxRSS { // Linux gives KiB, getrusage(2)
				b.maxRSS, b.maxRun = rss, nameOf(args)
			}
		}
	}
	if err != nil {
		return took, fmt.Errorf("clusterctl %s: %w\n%s", strings.Join(args, " "), err, out.String())
	}
	return took, nil
}

// nameOf is a run's name for people: the command, and the example it works on.
func nameOf(args []string) string {
	if len(args) < 2 {
		return args[0]
	}
	return args[0] + " " + filepath.Base(filepath.Dir(args[1]))
}

// best is the shortest of several runs: what others do on the machine only adds.
func (b *bench) best(ctx context.Context, runs int, args ...string) (time.Duration, error) {
	var out time.Duration
	for i := range runs {
		took, err := b.clusterctl(ctx, args...)
		if err != nil {
			return 0, err
		}
		if i == 0 || took < out {
			out = took
		}
	}
	return out, nil
}

func measureCLI(ctx context.Context, b *bench) ([]row, error) {
	info, err := os.Stat(b.program)
	if err != nil {
		return nil, err
	}
	took, err := b.best(ctx, 10, "version")
	if err != nil {
		return nil, err
	}
	return []row{
		figure("size of the program", float64(info.Size())/1e6, "MB", 150),
		figure("clusterctl version", took.Seconds()*1000, "ms", 100),
	}, nil
}

func (b *bench) bundle() (*bundle.Bundle, error) {
	return bundle.Open(filepath.Join(b.cache, "bundles"), kubernetesVersion, "linux", "amd64")
}

func measureBundle(_ context.Context, b *bench) ([]row, error) {
	built, err := b.bundle()
	if err != nil {
		return nil, err
	}
	r, err := release.For(kubernetesVersion)
	if err != nil {
		return nil, err
	}
	var raw, compressed int64
	for _, a := range built.Artifacts() {
		if r.PartOf(a.Name) == "" { // what only some clusters need is not counted
			raw, compressed = raw+a.Size, compressed+a.CompressedSize
		}
	}
	return []row{
		figure("bundle, raw", float64(raw)/1e6, "MB", 0),
		figure("bundle, compressed", float64(compressed)/1e6, "MB", 150),
	}, nil
}
