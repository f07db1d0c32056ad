package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/blang/semver"
	"github.com/pulumi/pulumi/sdk/v3/go/auto"
)

// patience is how long the engine may take to finish what it has begun when it is asked to stop.
// A machine in a cloud takes minutes; an engine that is killed meanwhile forgets which ones it made.
const patience = 20 * time.Minute

// command runs the Pulumi CLI. Unlike the SDK's own it keeps the terminal's Ctrl-C from the CLI,
// which takes a second one for "drop everything", and waits for what was begun.
type command struct {
	path    string
	env     []string
	version semver.Version
}

var _ auto.PulumiCommand = (*command)(nil)

// MissingError says that the CLI is not installed.
type MissingError struct{ Built string }

func (e *MissingError) Error() string {
	return fmt.Sprintf("the Pulumi CLI is neither on PATH nor at %s: run \"make pulumi\", which builds it, or install it (https://www.pulumi.com/docs/install)", e.Built)
}

// findCommand takes the CLI that was built for us, or else the one on PATH.
func findCommand(ctx context.Context, built string, env []string) (*command, error) {
	path := built
	if _, err := os.Stat(built); err != nil {
		if path, err = exec.LookPath("pulumi"); err != nil {
			return nil, &MissingError{Built: built}
		}
	}
	c := &command{path: path, env: env}
	out, _, _, err := c.Run(ctx, "", nil, nil, nil, nil, "version")
	if err != nil {
		return nil, fmt.Errorf("ask %s for its version: %w", path, err)
	}
	if c.version, err = semver.ParseTolerant(strings.TrimSpace(out)); err != nil {
		return nil, fmt.Errorf("ask %s for its version: it says %q", path, strings.TrimSpace(out))
	}
	if c.version.Major != 3 {
		return nil, fmt.Errorf("%s has version %s, need 3; run \"make pulumi\"", path, c.version)
	}
	return c, nil
}

// Version is the CLI's.
func (c *command) Version() semver.Version { return c.version }

// Run runs the CLI once. When ctx ends it is asked to stop and waited for.
func (c *command) Run(ctx context.Context, dir string, stdin io.Reader, moreOut, moreErr []io.Writer, env []string, args ...string) (string, string, int, error) {
	if !slices.Contains(args, "--non-interactive") {
		args = append([]string{"--non-interactive"}, args...)
	}
	cmd := exec.CommandContext(ctx, c.path, args...)
	cmd.Dir, cmd.Stdin = dir, stdin
	cmd.Env = slices.Concat(os.Environ(), c.env, env, []string{"PULUMI_AUTOMATION_API=true", "PATH=" + filepath.Dir(c.path) + string(os.PathListSeparator) + os.Getenv("PATH")})
	var stdout, stderr bytes.Buffer
	cmd.Stdout = io.MultiWriter(append(slices.Clone(moreOut), &stdout)...)
	cmd.Stderr = io.MultiWriter(append(slices.Clone(moreErr), &stderr)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = patience
	err := cmd.Run()
	code := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		code = exit.ExitCode()
	} else if err != nil {
		code = -1
	}
	return stdout.String(), stderr.String(), code, err
}
