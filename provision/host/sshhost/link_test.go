package sshhost_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"clusterctl/provision/host"
	"clusterctl/provision/host/hosttest"
	"clusterctl/provision/host/sshhost"
)

func TestFrozenLinkIsDetectedWithinTheDeadline(t *testing.T) {
	s := hosttest.NewServer(t, hosttest.ServerOptions{})
	inv := s.Inventory("h1")
	inv.SSH.KeyPath = keyFile(t, "")
	h := open(t, inv, sshhost.Options{KeepAlive: 50 * time.Millisecond, LinkTimeout: 500 * time.Millisecond})
	out, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		defer w.Close()
		_, err := h.Run(t.Context(), host.Cmd{Args: []string{"sh", "-c", "echo up; exec sleep 86400"}, Stdout: w})
		done <- err
	}()
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	s.Freeze()
	select {
	case err := <-done:
		wantUnreachable(t, err, "connection lost", "no answer for 500ms")
	case <-time.After(time.Minute):
		t.Fatal("the frozen link was not noticed")
	}
	s.Thaw()
	if err := hello(t, h); err != nil {
		t.Errorf("after the thaw: %v", err)
	}
	if s.Logins() != 2 {
		t.Errorf("%d logins, want 2", s.Logins())
	}
}

func TestIdleLinkIsKept(t *testing.T) {
	s := hosttest.NewServer(t, hosttest.ServerOptions{})
	inv := s.Inventory("h1")
	inv.SSH.KeyPath = keyFile(t, "")
	h := open(t, inv, sshhost.Options{})
	for range 5 {
		if err := hello(t, h); err != nil {
			t.Fatal(err)
		}
	}
	if s.Logins() != 1 {
		t.Errorf("%d logins, want 1", s.Logins())
	}
}

func TestSessionsAreQueuedWhereTheServerAllowsTwo(t *testing.T) {
	s := hosttest.NewServer(t, hosttest.ServerOptions{MaxSessions: 2, MaxStartups: 3})
	inv := s.Inventory("h1")
	inv.SSH.KeyPath = keyFile(t, "")
	h := open(t, inv, sshhost.Options{})
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if err := hello(t, h); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if s.Logins() != 1 || s.MostSessions() > 2 {
		t.Errorf("%d logins, up to %d sessions", s.Logins(), s.MostSessions())
	}
}

func TestSessionsStayBelowOurOwnLimit(t *testing.T) {
	s := hosttest.NewServer(t, hosttest.ServerOptions{})
	inv := s.Inventory("h1")
	inv.SSH.KeyPath = keyFile(t, "")
	h := open(t, inv, sshhost.Options{MaxSessions: 3})
	var wg sync.WaitGroup
	for range 12 {
		wg.Go(func() { _ = hello(t, h) })
	}
	wg.Wait()
	if s.MostSessions() > 3 {
		t.Errorf("up to %d sessions, want 3", s.MostSessions())
	}
}

func TestWaitingForASlotEndsWithTheContext(t *testing.T) {
	s := hosttest.NewServer(t, hosttest.ServerOptions{})
	inv := s.Inventory("h1")
	inv.SSH.KeyPath = keyFile(t, "")
	h := open(t, inv, sshhost.Options{MaxSessions: 1})
	ctx, cancel := context.WithCancel(t.Context())
	out, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		defer w.Close()
		_, err := h.Run(ctx, host.Cmd{Args: []string{"sh", "-c", "echo up; exec sleep 86400"}, Stdout: w})
		done <- err
	}()
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	short, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	if _, err := h.Run(short, host.Cmd{Args: []string{"true"}}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want %v", err, context.DeadlineExceeded)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
	if err := hello(t, h); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestRefusedConnectionIsTriedAgain(t *testing.T) {
	s := hosttest.NewServer(t, hosttest.ServerOptions{})
	inv := s.Inventory("h1")
	inv.SSH.KeyPath = keyFile(t, "")
	var dials atomic.Int32
	h := open(t, inv, sshhost.Options{Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		if dials.Add(1) < 3 {
			return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
		}
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}})
	if err := hello(t, h); err != nil {
		t.Fatal(err)
	}
	if dials.Load() != 3 {
		t.Errorf("%d attempts, want 3", dials.Load())
	}
}

func TestRefusedConnectionIsGivenUpAtTheDeadline(t *testing.T) {
	inv := hosttest.NewServer(t, hosttest.ServerOptions{}).Inventory("h1")
	inv.SSH.KeyPath = keyFile(t, "")
	h := open(t, inv, sshhost.Options{ConnectTimeout: 600 * time.Millisecond,
		Dial: func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
		}})
	err := hello(t, h)
	wantUnreachable(t, err, "h1", "connection refused", "check that sshd runs")
	if !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("error %v does not wrap its cause", err)
	}
}

func TestUnknownDialErrorIsFinal(t *testing.T) {
	inv := hosttest.NewServer(t, hosttest.ServerOptions{}).Inventory("h1")
	inv.SSH.KeyPath = keyFile(t, "")
	cause := errors.New("something else")
	dials := 0
	h := open(t, inv, sshhost.Options{Dial: func(context.Context, string, string) (net.Conn, error) { dials++; return nil, cause }})
	if err := hello(t, h); !errors.Is(err, cause) || dials != 1 {
		t.Errorf("error %v after %d attempts", err, dials)
	}
}

func TestCallersShareOneConnecting(t *testing.T) {
	inv := hosttest.NewServer(t, hosttest.ServerOptions{}).Inventory("h1")
	inv.SSH.KeyPath = keyFile(t, "")
	release := make(chan struct{})
	var dials atomic.Int32
	h := open(t, inv, sshhost.Options{Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		dials.Add(1)
		select {
		case <-release:
			return (&net.Dialer{}).DialContext(ctx, network, addr)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}})
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() {
		_, err := h.Run(ctx, host.Cmd{Args: []string{"true"}})
		first <- err
	}()
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() {
			if err := hello(t, h); err != nil {
				t.Error(err)
			}
		})
	}
	cancel() // one caller less does not end the attempt of the others
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
	close(release)
	wg.Wait()
	if n := dials.Load(); n > 2 {
		t.Errorf("%d connections, want one", n)
	}
}

func TestFleetSharesOneConnectionToTheBastion(t *testing.T) {
	key := keyFile(t, "")
	bastion := hosttest.NewServer(t, hosttest.ServerOptions{})
	jump := bastion.Inventory("").SSH
	jump.KeyPath = key
	fleet := sshhost.NewFleet(sshhost.Options{Home: t.TempDir()})
	t.Cleanup(func() { _ = fleet.Close() })
	for range 4 {
		target := hosttest.NewServer(t, hosttest.ServerOptions{})
		inv := target.Inventory("target")
		inv.SSH.KeyPath, inv.SSH.Bastion = key, &jump
		h := fleet.Open(inv)
		if err := hello(t, h); err != nil {
			t.Fatal(err)
		}
		_ = h.Close()
	}
	if bastion.Logins() != 1 || bastion.Execs() != 0 {
		t.Errorf("bastion: %d logins, %d commands", bastion.Logins(), bastion.Execs())
	}
}

func TestBastionWithoutForwardingTellsWhatToDo(t *testing.T) {
	key := keyFile(t, "")
	bastion := hosttest.NewServer(t, hosttest.ServerOptions{NoForwarding: true})
	inv := hosttest.NewServer(t, hosttest.ServerOptions{}).Inventory("h1")
	jump := bastion.Inventory("").SSH
	jump.KeyPath, inv.SSH.KeyPath, inv.SSH.Bastion = key, key, &jump
	wantUnreachable(t, hello(t, open(t, inv, sshhost.Options{})), "bastion 127.0.0.1", "AllowTcpForwarding yes")
}

func TestTargetBehindABastionIsTriedAgain(t *testing.T) {
	key := keyFile(t, "")
	bastion := hosttest.NewServer(t, hosttest.ServerOptions{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	inv := hosttest.NewServer(t, hosttest.ServerOptions{}).Inventory("h1")
	inv.SSH.Port = l.Addr().(*net.TCPAddr).Port
	_ = l.Close() // nobody listens there
	jump := bastion.Inventory("").SSH
	jump.KeyPath, inv.SSH.KeyPath, inv.SSH.Bastion = key, key, &jump
	err = hello(t, open(t, inv, sshhost.Options{ConnectTimeout: 400 * time.Millisecond}))
	var refused *ssh.OpenChannelError
	if !errors.As(err, &refused) {
		t.Errorf("error %v, want the bastion's refusal", err)
	}
	wantUnreachable(t, err, "through bastion 127.0.0.1", "connection refused")
}
