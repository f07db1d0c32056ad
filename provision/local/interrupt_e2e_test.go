//go:build e2e

package local

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"clusterctl/provision/event"

	"golang.org/x/sys/unix"
)

// childState is the environment variable that makes TestChild work for a parent.
const childState = "CLUSTERCTL_E2E_CHILD_STATE"

// TestChild is not a test: it is what the tests below start in order to kill it.
func TestChild(t *testing.T) {
	stateDir := os.Getenv(childState)
	if stateDir == "" {
		t.Skip("works for other tests only")
	}
	p, s := newProvider(t, stateDir), newCluster("e2e-killed", 2)
	if _, err := p.Ensure(t.Context(), s, event.Discard); err != nil {
		t.Error(err)
	}
	if err := p.Destroy(t.Context(), s, event.Discard); err != nil {
		t.Error(err)
	}
}

// TestKilledAnywhereTheNextRunGoesOn kills a process that makes and destroys hosts, a little
// later each time, until it gets to its end. After each kill, Ensure must work, and so must
// Destroy.
func TestKilledAnywhereTheNextRunGoesOn(t *testing.T) {
	before := traces(t)
	stateDir := t.TempDir()
	p, s := newProvider(t, stateDir), newCluster("e2e-killed", 2)
	if _, err := p.ensureBase(t.Context(), event.Discard); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Destroy(context.Background(), s, event.Discard) })
	for i, after := 0, 40*time.Millisecond; after < time.Minute; i, after = i+1, after*5/4 {
		finished := runChild(t, stateDir, after)
		if i%2 == 0 {
			if _, err := p.Ensure(t.Context(), s, event.Discard); err != nil {
				t.Fatalf("ensure after a kill at %v: %v\n%s", after, err, consoles(p, s))
			}
		}
		if i%4 < 2 {
			if err := p.Destroy(t.Context(), s, event.Discard); err != nil {
				t.Fatalf("destroy after a kill at %v: %v", after, err)
			}
			before.compare(t, traces(t))
		}
		if finished {
			return
		}
	}
	t.Error("the child never got to its end")
}

// TestAHostThatEndsWhileItIsKeptIsStarted is the moment after a kill at which a host's init has
// been killed and still looks alive.
func TestAHostThatEndsWhileItIsKeptIsStarted(t *testing.T) {
	p, s := newProvider(t, t.TempDir()), newCluster("e2e-ending", 0)
	h := ensure(t, p, s).Hosts[0]
	l, err := newLayout(s)
	if err != nil {
		t.Fatal(err)
	}
	run(t, h, "echo kept > /etc/kept; systemctl stop ssh.socket ssh.service")
	killed := make(chan error, 1)
	began := time.Now()
	_, err = p.Ensure(t.Context(), s, event.Func(func(e event.Event) {
		if e.Kind == event.StepStart && e.Host == h.Name {
			time.AfterFunc(2*lookInterval, func() { killed <- p.runtime(l).Kill(context.Background(), h.Name, int(unix.SIGKILL), nil) })
		}
	}))
	if err := errors.Join(err, <-killed); err != nil {
		t.Fatal(err)
	}
	t.Logf("Ensure took %v", time.Since(began))
	if got := run(t, h, "cat /etc/kept"); got != "kept" {
		t.Errorf("the disk has %q", got)
	}
}

// runChild says whether the child got to its end in time.
func runChild(t *testing.T, stateDir string, after time.Duration) bool {
	ctx, cancel := context.WithTimeout(t.Context(), after)
	defer cancel()
	child := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestChild$")
	child.Env = append(os.Environ(), childState+"="+stateDir)
	out, err := child.CombinedOutput()
	t.Logf("after %v: %v", after, err)
	if ctx.Err() == nil && err != nil {
		t.Fatalf("child: %v\n%s", err, out)
	}
	return err == nil
}
