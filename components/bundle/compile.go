package bundle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"clusterctl/components/release"
)

// toolchain is the go command found on this machine, and what it builds for.
type toolchain struct {
	goos, goarch string
	version      string // of go
}

func findToolchain(ctx context.Context, goos, goarch string) (toolchain, error) {
	cmd := exec.CommandContext(ctx, "go", "env", "GOVERSION")
	cmd.Env = append(os.Environ(), "GOTOOLCHAIN=local")
	out, err := cmd.Output()
	if err != nil {
		return toolchain{}, fmt.Errorf("ask go for its version (a Go toolchain must be in PATH): %w", err)
	}
	return toolchain{goos: goos, goarch: goarch, version: strings.TrimSpace(string(out))}, nil
}

// inputs names the tools that a's bytes depend on. For a program with C it
// also finds out that compiler and library are there.
func (t toolchain) inputs(ctx context.Context, a release.Artifact) ([]string, error) {
	if a.Cgo == "" {
		return []string{t.version}, nil
	}
	compiler, err := exec.CommandContext(ctx, "gcc", "-dumpfullversion", "-dumpmachine").Output()
	if err != nil {
		return nil, missingLibrary(a, err)
	}
	library, err := exec.CommandContext(ctx, "pkg-config", "--modversion", a.Cgo).Output()
	if err != nil {
		return nil, missingLibrary(a, err)
	}
	return []string{t.version, string(compiler), string(library)}, nil
}

func missingLibrary(a release.Artifact, err error) error {
	return fmt.Errorf("%s needs a C compiler and %s: apt-get install %s-dev gcc pkg-config: %w", a.Name, a.Cgo, a.Cgo, err)
}

// compile builds a from the module in dir into the file out. The result is
// static and depends on nothing but what buildKey names.
func (t toolchain) compile(ctx context.Context, dir string, a release.Artifact, out string) error {
	flags := []string{"-s", "-w"}
	if a.Cgo != "" {
		flags = append(flags, "-extldflags", "-static")
	}
	for _, s := range a.Stamps {
		flags = append(flags, "-X", s.Symbol+"="+s.Value)
	}
	args := []string{"build", "-trimpath", "-buildvcs=false", "-mod=readonly", "-ldflags", strings.Join(flags, " ")}
	if len(a.Tags) > 0 {
		args = append(args, "-tags", strings.Join(a.Tags, ","))
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "-o", out, a.Package)...)
	cmd.Dir = dir
	cmd.Env = t.environment(filepath.Clean(dir), a.Cgo != "")
	// go passes an interrupt on to the compilers that it runs; a kill would leave them.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = 10 * time.Second
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go build %s in %s: %w\n%s", a.Package, dir, errors.Join(ctx.Err(), err), lastLines(output.String(), 20))
	}
	return nil
}

// environment is the caller's, without what would change the result. GOFLAGS
// must be set, not empty: go reads an empty one from its settings file.
func (t toolchain) environment(dir string, cgo bool) []string {
	decisive := []string{"GOFLAGS", "GOWORK", "GOTOOLCHAIN", "GOOS", "GOARCH", "GOAMD64", "GOARM64", "GOEXPERIMENT", "GODEBUG", "GO111MODULE",
		"CGO_ENABLED", "CGO_CFLAGS", "CGO_CPPFLAGS", "CGO_LDFLAGS", "CC", "PWD"}
	env := slices.DeleteFunc(os.Environ(), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return slices.Contains(decisive, name)
	})
	enabled := "0"
	if cgo {
		enabled = "1"
	}
	return append(env, "GOFLAGS=-mod=readonly", "GOWORK=off", "GOTOOLCHAIN=local", "GOOS="+t.goos, "GOARCH="+t.goarch,
		"GOAMD64=v1", "GOARM64=v8.0", "CGO_ENABLED="+enabled, "CGO_CFLAGS=-g -O2", "CGO_LDFLAGS=-g -O2", "CC=gcc", "PWD="+dir)
}

func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
