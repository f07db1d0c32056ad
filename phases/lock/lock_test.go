package lock

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"clusterctl/phases/state"
	"clusterctl/provision/host"
	"clusterctl/provision/host/hosttest"
	"clusterctl/provision/host/sshhost"
)

// plane is a control plane: an SSH server in this process that executes really.
type plane struct {
	server *hosttest.Server
	file   string // of its lock
}

func newPlane(t *testing.T) plane {
	t.Helper()
	return plane{hosttest.NewServer(t, hosttest.ServerOptions{}), filepath.Join(t.TempDir(), "lock")}
}

// from gives the host as one machine reaches it.
func (p plane) from(t *testing.T, name string) host.Host {
	t.Helper()
	inv := p.server.Inventory(name)
	inv.SSH.KeyPath = keyFile(t)
	h := sshhost.New(inv, sshhost.Options{ConnectTimeout: 3 * time.Second, KeepAlive: 300 * time.Millisecond, LinkTimeout: 3 * time.Second})
	t.Cleanup(func() { h.Close() })
	return h
}

// keyFile makes a login key: the servers take any.
func keyFile(t *testing.T) string {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func (p plane) options() Options {
	return Options{File: p.file, Renew: 100 * time.Millisecond, Silence: 5 * time.Second, Lease: 6 * time.Second}
}

func (p plane) free(t *testing.T) {
	t.Helper()
	eventually(t, "the lock's file is gone", func() bool {
		_, err := os.Stat(p.file)
		return errors.Is(err, fs.ErrNotExist)
	})
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			t.Fatalf("not within 20 s: %s", what)
		case <-tick.C:
		}
	}
}

var (
	jo  = state.Holder{User: "jo", Machine: "desk", PID: 11, Command: `up "it's" $x.yaml`, Since: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)}
	kim = state.Holder{User: "kim", Machine: "ci", PID: 12, Command: "upgrade x.yaml", Since: time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)}
)

func take(t *testing.T, who state.Holder, o Options, hosts ...host.Host) (context.Context, *Held) {
	t.Helper()
	ctx, held, err := Take(t.Context(), hosts, who, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(held.Release)
	return ctx, held
}

func refused(t *testing.T, by state.Holder, o Options, hosts ...host.Host) {
	t.Helper()
	_, _, err := Take(t.Context(), hosts, kim, o)
	locked, ok := errors.AsType[*state.LockedError](err)
	if !ok || locked.Holder != by || locked.ExitCode() != 5 {
		t.Fatalf("error %v, want one that names %v", err, by)
	}
	if text := err.Error(); !strings.Contains(text, by.User) || !strings.Contains(text, by.Command) && !strings.Contains(text, "up ") {
		t.Errorf("the error does not say who and what for: %v", err)
	}
}

func lost(t *testing.T, ctx context.Context) *LostError {
	t.Helper()
	select {
	case <-ctx.Done():
	case <-time.After(20 * time.Second):
		t.Fatal("the holder is not told that its lock is lost")
	}
	err, ok := errors.AsType[*LostError](context.Cause(ctx))
	if !ok {
		t.Fatalf("cause %v, want a lost lock", context.Cause(ctx))
	}
	return err
}

func TestSecondRunIsRefusedAndToldWhoHoldsTheLock(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	ctx, held := take(t, jo, p.options(), p.from(t, "cp-1"))
	refused(t, jo, p.options(), p.from(t, "cp-1"))
	if ctx.Err() != nil {
		t.Error("the holder lost its lock to one that was refused")
	}
	held.Release()
	p.free(t)
	take(t, kim, p.options(), p.from(t, "cp-1"))
}

func TestReleaseIsNoLoss(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	ctx, held := take(t, jo, p.options(), p.from(t, "cp-1"))
	held.Release()
	if err := Blame(ctx, errors.New("other")); err.Error() != "other" {
		t.Errorf("a released lock is blamed: %v", err)
	}
}

func TestFileThatACrashLeftLocksNobodyOut(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	if err := os.WriteFile(p.file, []byte("{\"user\":\"gone\"}\n1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, found, err := OwnerOn(t.Context(), p.from(t, "cp-1"), p.options()); found || err != nil {
		t.Errorf("a file without a lock has an owner: %v, %v", found, err)
	}
	take(t, jo, p.options(), p.from(t, "cp-1"))
}

func TestLockIsHeldThroughManyLeases(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	o := p.options()
	o.Lease = 2 * time.Second
	ctx, _ := take(t, jo, o, p.from(t, "cp-1"))
	select {
	case <-ctx.Done():
		t.Fatal(context.Cause(ctx))
	case <-time.After(3 * o.Lease):
	}
	refused(t, jo, o, p.from(t, "cp-1"))
}

func TestCutLinkEndsTheLockOnBothSides(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	ctx, _ := take(t, jo, p.options(), p.from(t, "cp-1"))
	p.server.Drop()
	err := lost(t, ctx)
	if _, ok := errors.AsType[*host.UnreachableError](err); !ok {
		t.Errorf("a cut link is told as %v", err)
	}
	if got := Blame(ctx, ctx.Err()); !errors.Is(got, err) || errors.Is(got, context.Canceled) {
		t.Errorf("the run is told to have ended by %v", got)
	}
	eventually(t, "the next run gets the lock", func() bool {
		_, held, err := Take(t.Context(), []host.Host{p.from(t, "cp-1")}, kim, p.options())
		if err != nil {
			return false
		}
		held.Release()
		return true
	})
}

func TestFrozenLinkEndsTheLockOnBothSides(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	ctx, _ := take(t, jo, p.options(), p.from(t, "cp-1"))
	p.server.Freeze()
	t.Cleanup(p.server.Thaw)
	lost(t, ctx)
	p.free(t) // the host gave the holder up, though nothing was closed
}

func TestHolderThatFallsSilentIsGivenUpByTheHost(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	o := p.options()
	o.Renew, o.Silence, o.Lease = time.Hour, time.Hour, time.Second
	ctx, _ := take(t, jo, o, p.from(t, "cp-1"))
	p.free(t)
	lost(t, ctx)
}

func TestMajorityOfControlPlanesIsEnough(t *testing.T) {
	t.Parallel()
	p, q, gone := newPlane(t), newPlane(t), newPlane(t)
	o := p.options()
	hosts := []host.Host{at(gone, t, "cp-1"), at(p, t, "cp-2"), at(q, t, "cp-3")}
	gone.server.Close()
	ctx, held := take(t, jo, o, hosts...)
	refused(t, jo, o, at(p, t, "cp-2"), at(q, t, "cp-3"))

	q.server.Close()
	lost(t, ctx)
	held.Release()
	_, _, err := Take(t.Context(), hosts, kim, o)
	if _, ok := errors.AsType[*host.UnreachableError](err); !ok || !strings.Contains(err.Error(), "1 of 3 control planes answer and 2 are needed") {
		t.Errorf("a minority is enough: %v", err)
	}
}

func TestOneOfThreeMayGo(t *testing.T) {
	t.Parallel()
	p, q, r := newPlane(t), newPlane(t), newPlane(t)
	ctx, held := take(t, jo, p.options(), at(p, t, "cp-1"), at(q, t, "cp-2"), at(r, t, "cp-3"))
	p.server.Drop()
	eventually(t, "the loss is noticed", func() bool {
		held.mu.Lock()
		defer held.mu.Unlock()
		return held.alive == 2
	})
	if ctx.Err() != nil {
		t.Errorf("two of three are held, yet the run is stopped: %v", context.Cause(ctx))
	}
}

func TestOnlyOneOfManyRunsGetsTheLock(t *testing.T) {
	t.Parallel()
	planes := []plane{newPlane(t), newPlane(t), newPlane(t)}
	const runs = 6
	var holding, won atomic.Int32
	var all sync.WaitGroup
	for range runs {
		var hosts []host.Host
		for i, p := range planes {
			hosts = append(hosts, at(p, t, []string{"cp-1", "cp-2", "cp-3"}[i]))
		}
		all.Go(func() {
			for range 3 {
				_, held, err := Take(t.Context(), hosts, jo, planes[0].options())
				if _, locked := errors.AsType[*state.LockedError](err); locked {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if n := holding.Add(1); n != 1 {
					t.Errorf("%d runs hold the lock", n)
				}
				won.Add(1)
				holding.Add(-1)
				held.Release()
			}
		})
	}
	all.Wait()
	if won.Load() == 0 {
		t.Error("no run ever got the lock")
	}
}

func TestBreakTakesTheLockFromItsOwner(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	ctx, _ := take(t, jo, p.options(), p.from(t, "cp-1"))
	h := p.from(t, "cp-1")
	owner, found, err := OwnerOn(t.Context(), h, p.options())
	if err != nil || !found || owner.Holder != jo || owner.Host != "cp-1" {
		t.Fatalf("owner %+v, %v, %v", owner, found, err)
	}
	other := owner
	other.Process++
	if err := Break(t.Context(), h, other, p.options()); err != nil {
		t.Fatal(err)
	}
	refused(t, jo, p.options(), h)
	if err := Break(t.Context(), h, owner, p.options()); err != nil {
		t.Fatal(err)
	}
	if err := lost(t, ctx); !strings.Contains(err.Error(), "taken away") {
		t.Errorf("the owner is told %v", err)
	}
	take(t, kim, p.options(), h)
}

func TestCancelledRunKeepsTheLockUntilItLetsGo(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	ctx, cancel := context.WithCancel(t.Context())
	_, held, err := Take(ctx, []host.Host{p.from(t, "cp-1")}, jo, p.options())
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	refused(t, jo, p.options(), p.from(t, "cp-1"))
	held.Release()
	take(t, kim, p.options(), p.from(t, "cp-1"))
}

// at is the host with a file of its own for the lock: all of them share this machine.
func at(p plane, t *testing.T, name string) host.Host {
	return elsewhere{p.from(t, name), p.file}
}

// elsewhere replaces the file that scripts are given.
type elsewhere struct {
	host.Host
	file string
}

func (e elsewhere) Run(ctx context.Context, c host.Cmd) (host.Result, error) {
	args := append([]string{}, c.Args...)
	args[4] = e.file
	c.Args = args
	return e.Host.Run(ctx, c)
}
