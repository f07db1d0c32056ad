package sshhost

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"

	"clusterctl/provision/host"
)

const (
	maxAttempts  = 10                     // to connect, within Options.ConnectTimeout
	firstBackoff = 250 * time.Millisecond // doubled after each attempt
	maxBackoff   = 4 * time.Second
	maxLogins    = 3 // connections spent on offering the agent's keys a few at a time
)

// transientError marks what may go away by itself, so that connecting again makes sense.
type transientError struct{ err error }

func (e *transientError) Error() string { return e.err.Error() }
func (e *transientError) Unwrap() error { return e.err }

// attempt is one connecting that several callers may wait for.
type attempt struct {
	done    chan struct{}
	cancel  context.CancelFunc
	waiters int
	link    *link
	err     error
}

// connected gives the live connection, and makes it when there is none. Callers at the same
// moment share one attempt, which goes on as long as one of them waits.
func (h *Host) connected(ctx context.Context) (*link, error) {
	h.mu.Lock()
	if h.current != nil && !h.current.isGone() {
		defer h.mu.Unlock()
		return h.current, nil
	}
	a := h.pending
	if a == nil {
		shared, cancel := context.WithCancel(context.WithoutCancel(ctx))
		a = &attempt{done: make(chan struct{}), cancel: cancel}
		h.pending = a
		go h.connect(shared, a)
	}
	a.waiters++
	h.mu.Unlock()

	select {
	case <-a.done:
		return a.link, a.err
	case <-ctx.Done():
		h.abandon(a)
		return nil, ctx.Err()
	}
}

func (h *Host) abandon(a *attempt) {
	h.mu.Lock()
	defer h.mu.Unlock()
	a.waiters--
	if a.waiters == 0 {
		a.cancel()
		if h.pending == a {
			h.pending = nil
		}
	}
}

// connect runs one attempt and leaves its outcome for those who wait.
func (h *Host) connect(ctx context.Context, a *attempt) {
	defer a.cancel()
	l, err := h.connectRetrying(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.pending == a {
		h.pending = nil
		h.current = l
	} else if l != nil {
		l.end(net.ErrClosed)
	}
	a.link, a.err = l, err
	close(a.done)
}

// connectRetrying connects; what is marked transient is tried again within the deadline.
func (h *Host) connectRetrying(ctx context.Context) (*link, error) {
	ctx, cancel := context.WithTimeout(ctx, h.o.ConnectTimeout)
	defer cancel()
	wait := firstBackoff
	for n := 1; ; n++ {
		l, err := h.connectOnce(ctx)
		if err == nil {
			h.log.Debug("connected", "address", h.addr, "attempt", n)
			return l, nil
		}
		var t *transientError
		if !errors.As(err, &t) || n == maxAttempts {
			return nil, h.unreachable(err)
		}
		h.log.Debug("connect again", "address", h.addr, "attempt", n, "wait", wait, "error", err)
		select {
		case <-ctx.Done():
			return nil, h.unreachable(err)
		case <-time.After(wait):
		}
		wait = min(2*wait, maxBackoff)
	}
}

// connectOnce connects and logs in. When a server hangs up before all keys of an agent were
// offered, the next login offers the rest.
func (h *Host) connectOnce(ctx context.Context) (*link, error) {
	creds, err := h.credentials()
	if err != nil {
		return nil, err
	}
	defer creds.close()
	for login := 1; ; login++ {
		before := creds.left()
		client, err := h.login(ctx, creds)
		if err == nil {
			h.remember(creds.last)
			return newLink(client, h.o.KeepAlive, h.o.LinkTimeout), nil
		}
		var refused *loginError
		more := errors.As(err, &refused) && creds.left() > 0 && creds.left() < before
		if !more || login == maxLogins {
			return nil, err
		}
	}
}

// login makes one network connection and one SSH handshake.
func (h *Host) login(ctx context.Context, creds *credentials) (*ssh.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, h.o.DialTimeout)
	defer cancel()
	conn, err := h.dialServer(ctx)
	if err != nil {
		return nil, err
	}
	check, err := h.hostKeyCheck(conn.RemoteAddr())
	if err != nil {
		_ = conn.Close() // nothing was sent
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	config := &ssh.ClientConfig{
		User:              h.ssh.User,
		Auth:              []ssh.AuthMethod{ssh.PublicKeysCallback(creds.signers)},
		HostKeyCallback:   check.callback,
		HostKeyAlgorithms: check.algorithms,
	}
	c, channels, requests, err := ssh.NewClientConn(conn, h.addr, config)
	if !stop() {
		err = errors.Join(err, fmt.Errorf("log in: %w", ctx.Err()))
	}
	if err != nil {
		_ = conn.Close() // the handshake's error is the one to tell
		return nil, h.handshakeError(ctx, err, check, creds)
	}
	return ssh.NewClient(c, channels, requests), nil
}

// handshakeError classifies what ended a handshake.
func (h *Host) handshakeError(ctx context.Context, err error, check *hostKeyCheck, creds *credentials) error {
	switch {
	case check.err != nil:
		return check.err
	case creds.err != nil:
		return creds.err
	case ctx.Err() != nil, isTransient(err):
		return &transientError{fmt.Errorf("SSH handshake: %w", err)}
	case check.passed:
		return &loginError{user: h.ssh.User, offered: creds.offered(), err: err}
	default:
		return fmt.Errorf("SSH handshake: %w", err)
	}
}

// dialServer opens the network connection to sshd, through the bastion if there is one.
func (h *Host) dialServer(ctx context.Context) (net.Conn, error) {
	if h.jump == nil {
		conn, err := h.o.Dial(ctx, "tcp", h.addr)
		if err != nil && isTransient(err) {
			return nil, &transientError{err}
		}
		return conn, err
	}
	conn, err := h.jump.dialRaw(ctx, "tcp", h.addr)
	var refused *ssh.OpenChannelError
	switch {
	case err == nil:
		return conn, nil
	case errors.As(err, &refused) && refused.Reason == ssh.ConnectionFailed:
		return nil, &transientError{fmt.Errorf("through %s: %w", h.jump.name, err)}
	default:
		return nil, fmt.Errorf("through %s: %w", h.jump.name, err)
	}
}

// isTransient knows the network errors that may go away: nobody listens yet, no way yet, cut,
// or too slow. What it does not know is final.
func isTransient(err error) bool {
	for _, known := range []error{
		syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE,
		syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.ETIMEDOUT,
		io.EOF, io.ErrUnexpectedEOF, context.DeadlineExceeded,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return dns.IsTemporary || dns.IsTimeout
	}
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// unreachable makes the error that callers see.
func (h *Host) unreachable(err error) error {
	var known *host.UnreachableError
	if errors.As(err, &known) && known.Host == h.name {
		return known
	}
	return &host.UnreachableError{Host: h.name, Addr: h.addr, Err: err, Remedy: remedyOf(err)}
}

// remedyOf finds what to do next about an error of this package.
func remedyOf(err error) string {
	var r interface{ remedy() string }
	if errors.As(err, &r) {
		return r.remedy()
	}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "check that sshd runs there and that address and port are right"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, syscall.EHOSTUNREACH),
		errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.ETIMEDOUT):
		return "check that the host is up and that no firewall is in between"
	}
	var dns *net.DNSError
	if errors.As(err, &dns) && dns.IsNotFound {
		return "check the name in the spec, or give the IP address"
	}
	return ""
}
