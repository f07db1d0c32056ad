package hosttest

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"clusterctl/provision/host"
)

// echoServer listens on addr and sends back what it gets.
func echoServer(t *testing.T, addr string) net.Addr {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Skipf("listen: %v", err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(c, c)
				_ = c.Close()
			}()
		}
	}()
	return l.Addr()
}

func (s Subject) dial(t *testing.T, addr net.Addr) net.Conn {
	t.Helper()
	c, err := s.Host.Dial(t.Context(), "tcp", addr.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func wantEcho(t *testing.T, c net.Conn, text string) {
	t.Helper()
	go func() { _, _ = io.WriteString(c, text) }()
	got := make([]byte, len(text))
	if _, err := io.ReadFull(c, got); err != nil || string(got) != text {
		t.Errorf("%d bytes came back of %d, error %v", len(got), len(text), err)
	}
}

func dialCarriesBytes(t *testing.T, s Subject) {
	addr := echoServer(t, "127.0.0.1:0")
	wantEcho(t, s.dial(t, addr), strings.Repeat("hello\x00", 1<<19))
	wantEcho(t, s.dial(t, addr), "again")
}

func dialTakesIPv6(t *testing.T, s Subject) {
	wantEcho(t, s.dial(t, echoServer(t, "[::1]:0")), "hello")
}

func dialedConnHasDeadlines(t *testing.T, s Subject) {
	c := s.dial(t, echoServer(t, "127.0.0.1:0"))
	if err := c.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("error %v, want %v", err, os.ErrDeadlineExceeded)
	}
	if err := c.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	wantEcho(t, c, "still alive")
}

func dialOfClosedPort(t *testing.T, s Subject) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	c, err := s.Host.Dial(t.Context(), "tcp", addr)
	if err == nil {
		_ = c.Close()
		t.Fatal("Dial succeeded")
	}
	if !strings.Contains(err.Error(), addr) {
		t.Errorf("error %q does not name the address", err)
	}
	var unreachable *host.UnreachableError
	if errors.As(err, &unreachable) {
		t.Errorf("error %v says that the host is away", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Host.Dial(ctx, "tcp", addr); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}
