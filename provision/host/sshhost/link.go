package sshhost

import (
	"fmt"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
)

// silentError says that the other side stopped to answer.
type silentError struct{ after time.Duration }

func (e *silentError) Error() string { return fmt.Sprintf("no answer for %v", e.after) }

// link is one live SSH connection.
type link struct {
	client *ssh.Client
	gone   chan struct{} // closed when the connection is over; cause is set by then

	mu    sync.Mutex
	cause error
}

// newLink watches over a connection: it is probed every interval, and ended when it has been
// silent for the time within.
func newLink(client *ssh.Client, every, within time.Duration) *link {
	l := &link{client: client, gone: make(chan struct{})}
	go func() {
		l.end(client.Wait())
		close(l.gone)
	}()
	go l.keepAlive(every, within)
	return l
}

// end closes the connection; the first cause is kept.
func (l *link) end(cause error) {
	l.mu.Lock()
	if l.cause == nil {
		l.cause = cause
	}
	l.mu.Unlock()
	_ = l.client.Close() // it is given up
}

func (l *link) why() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cause
}

func (l *link) isGone() bool {
	select {
	case <-l.gone:
		return true
	default:
		return l.why() != nil
	}
}

func (l *link) keepAlive(every, within time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	patience := time.NewTimer(0)
	defer patience.Stop()
	for {
		select {
		case <-l.gone:
			return
		case <-tick.C:
		}
		answer := make(chan error, 1)
		go func() {
			_, _, err := l.client.SendRequest("keepalive@openssh.com", true, nil)
			answer <- err
		}()
		patience.Reset(max(within-every, every))
		select {
		case <-l.gone:
			return
		case err := <-answer:
			if err != nil {
				l.end(err)
				return
			}
		case <-patience.C:
			l.end(&silentError{after: within})
			return
		}
	}
}
