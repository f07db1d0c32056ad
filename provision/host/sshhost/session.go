package sshhost

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
)

const (
	refusedTries = 4 // to open a session while none of ours is open
	refusedWait  = 100 * time.Millisecond
)

// session is one open SSH session and the slot it holds.
type session struct {
	*ssh.Session
	link  *link
	close func() // ends the session and gives the slot back; once
}

// open opens a session as soon as a slot is free. A server that refuses gets fewer sessions
// at the same moment from then on, and a connection that turns out to be dead is made again:
// nothing has run yet. An urgent one takes no slot and is tried once: it goes beyond our own
// limit, which is below what servers allow.
func (h *Host) open(ctx context.Context, urgent bool) (*session, error) {
	if urgent {
		return h.openUrgent(ctx)
	}
	refusals, deaths := 0, 0
	for {
		if err := h.slots.acquire(ctx); err != nil {
			return nil, err
		}
		l, err := h.connected(ctx)
		if err != nil {
			h.slots.release()
			return nil, err
		}
		s, err := openSession(ctx, l)
		if err == nil {
			return newSession(s, l, h.slots.release), nil
		}
		var refused *ssh.OpenChannelError
		switch {
		case errors.As(err, &refused):
			if h.slots.refused() {
				h.log.Debug("session refused, queue", "error", err)
				continue
			}
			if refusals++; refusals == refusedTries {
				return nil, h.unreachable(&sessionError{err})
			}
			if err := pause(ctx, time.Duration(refusals)*refusedWait); err != nil {
				return nil, err
			}
		case ctx.Err() != nil:
			h.slots.release()
			return nil, ctx.Err()
		default:
			h.slots.release()
			l.end(err)
			if deaths++; deaths == 2 {
				return nil, h.lost(l, err)
			}
		}
	}
}

func (h *Host) openUrgent(ctx context.Context) (*session, error) {
	l, err := h.connected(ctx)
	if err != nil {
		return nil, err
	}
	s, err := openSession(ctx, l)
	if err != nil {
		return nil, h.unreachable(&sessionError{err})
	}
	return newSession(s, l, func() {}), nil
}

func newSession(s *ssh.Session, l *link, release func()) *session {
	var once sync.Once
	return &session{Session: s, link: l, close: func() {
		once.Do(func() {
			_ = s.Close() // io.EOF when the other side closed first
			release()
		})
	}}
}

// openSession is NewSession that ends with ctx.
func openSession(ctx context.Context, l *link) (*ssh.Session, error) {
	type result struct {
		s   *ssh.Session
		err error
	}
	done := make(chan result, 1)
	go func() {
		s, err := l.client.NewSession()
		done <- result{s, err}
	}()
	select {
	case r := <-done:
		return r.s, r.err
	case <-ctx.Done():
		go func() {
			if r := <-done; r.s != nil {
				_ = r.s.Close() // nobody waits for it any more
			}
		}()
		return nil, ctx.Err()
	}
}

// lost is the error of a call whose connection died under it. Sessions end a moment before
// the connection says why.
func (h *Host) lost(l *link, err error) error {
	select {
	case <-l.gone:
	case <-time.After(time.Second):
	}
	if why := l.why(); why != nil {
		err = why
	}
	return h.unreachable(fmt.Errorf("connection lost: %w", err))
}

// sessionError says that the server opens no session at all.
type sessionError struct{ err error }

func (e *sessionError) Error() string { return fmt.Sprintf("open a session: %v", e.err) }
func (e *sessionError) Unwrap() error { return e.err }
func (e *sessionError) remedy() string {
	return "check MaxSessions and the restrictions of the key or user in sshd_config"
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
