//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// commandTime is more than any single command takes.
const commandTime = 10 * time.Minute

// command is one call of the program under test.
type command struct {
	args  []string
	env   []string // NAME=value, beside the test's own environment
	stdin string
	user  uint32 // not 0: run as this user and group
}

// result is how a command ended.
type result struct {
	command        string
	stdout, stderr string
	code           int
	took           time.Duration
}

// run runs a command to its end.
func (c command) run(t *testing.T) result {
	t.Helper()
	return c.start(t).wait(t)
}

// cli runs the program under test.
func cli(t *testing.T, args ...string) result {
	t.Helper()
	return command{args: args}.run(t)
}

// exits fails the test when the command ended with another code.
func (r result) exits(t *testing.T, code int) result {
	t.Helper()
	if r.code != code {
		t.Fatalf("%s: exit code %d, want %d\n%s%s", r.command, r.code, code, r.stdout, r.stderr)
	}
	return r
}

// says fails the test when any of the texts is in neither output.
func (r result) says(t *testing.T, texts ...string) result {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(r.stdout+r.stderr, text) {
			t.Errorf("%s: nothing about %q in\n%s%s", r.command, text, r.stdout, r.stderr)
		}
	}
	return r
}

// decode reads standard output as one JSON object of the documented schema.
func decode[T any](t *testing.T, r result) T {
	t.Helper()
	var head struct{ Schema string }
	var out T
	err := json.Unmarshal([]byte(r.stdout), &head)
	if err == nil {
		err = json.Unmarshal([]byte(r.stdout), &out)
	}
	if err != nil || head.Schema != "v1" {
		t.Fatalf("%s: schema %q, %v in\n%s%s", r.command, head.Schema, err, r.stdout, r.stderr)
	}
	return out
}

// running is a command that has not ended.
type running struct {
	cmd            *exec.Cmd
	began          time.Time
	stdout, stderr transcript
	ended          chan struct{}
	err            error // valid once ended is closed
}

// transcript is what a command has printed so far.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (t *transcript) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.Write(b)
}

func (t *transcript) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}

// start starts a command; it is killed at the end of the test at the latest.
func (c command) start(t *testing.T) *running {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), commandTime)
	r := &running{cmd: exec.CommandContext(ctx, shared.program, c.args...), began: time.Now(), ended: make(chan struct{})}
	r.cmd.Dir = shared.work
	r.cmd.Env = append(os.Environ(), c.env...)
	r.cmd.Stdin = strings.NewReader(c.stdin)
	r.cmd.Stdout, r.cmd.Stderr = &r.stdout, &r.stderr
	r.cmd.WaitDelay = 5 * time.Second
	if c.user != 0 {
		r.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: c.user, Gid: c.user}}
	}
	if err := r.cmd.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(cancel)
	go func() {
		defer cancel()
		r.err = r.cmd.Wait()
		close(r.ended)
	}()
	return r
}

// prints waits until the command has printed text on standard error.
func (r *running) prints(t *testing.T, within time.Duration, text string) {
	t.Helper()
	eventually(t, within, fmt.Sprintf("%q was printed", text), func(context.Context) error {
		said := r.stderr.String()
		if strings.Contains(said, text) {
			return nil
		}
		select {
		case <-r.ended:
			t.Fatalf("the command ended without printing %q:\n%s", text, said)
		default:
		}
		return errors.New("so far: " + said)
	})
}

// signal sends a signal; a command that has ended meanwhile does not mind.
func (r *running) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := r.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
}

// wait waits for the end. A command that a signal killed has the code 128 + its number, as a
// shell would say.
func (r *running) wait(t *testing.T) result {
	t.Helper()
	<-r.ended
	out := result{
		command: "clusterctl " + strings.Join(r.cmd.Args[1:], " "), stdout: r.stdout.String(), stderr: r.stderr.String(),
		code: r.cmd.ProcessState.ExitCode(), took: time.Since(r.began),
	}
	if ws, ok := r.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		out.code = 128 + int(ws.Signal())
	}
	if exit := new(exec.ExitError); r.err != nil && !errors.As(r.err, &exit) {
		t.Errorf("%s: %v", out.command, r.err)
	}
	record(t, out)
	t.Logf("%s: exit code %d after %v", out.command, out.code, out.took.Round(time.Millisecond))
	return out
}

// commandLog is where all commands and what they printed are kept.
func commandLog() string { return filepath.Join(shared.work, "commands.log") }

func record(t *testing.T, r result) {
	t.Helper()
	f, err := os.OpenFile(commandLog(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	_, err = io.WriteString(f, fmt.Sprintf("$ %s  # %s, exit code %d, %v\n%s%s\n", r.command, t.Name(), r.code, r.took, r.stdout, r.stderr))
	if err != nil {
		t.Fatal(err)
	}
}
