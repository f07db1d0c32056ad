package lock

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"clusterctl/phases/state"
	"clusterctl/provision/host"
)

//go:embed hold.sh
var holdScript string

const (
	codeLocked     = 75  // hold.sh: somebody else holds it
	codeNoProgram  = 127 // the shell's: command not found
	releasePatient = 5 * time.Second
)

// hold is the lock on one host: a session that runs as long as it is held.
type hold struct {
	host string
	said *answers
	end  func() // ends the session's input
	kill context.CancelFunc
	over chan struct{} // closed when the session is over; err is set by then
	err  error
}

// takeOne takes the lock on one host. The session outlives ctx: a run that is cancelled keeps its
// lock until it has stopped.
func takeOne(ctx context.Context, h host.Host, who string, o Options) (*hold, error) {
	session, kill := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	one := &hold{host: h.Name(), said: newAnswers(), end: sync.OnceFunc(func() { close(ended) }), kill: kill, over: make(chan struct{})}
	args := []string{"sh", "-c", holdScript, "clusterctl-lock", o.File, who, strconv.FormatFloat(o.Lease.Seconds(), 'f', -1, 64)}
	go func() {
		defer close(one.over)
		_, one.err = h.Run(session, host.Cmd{Args: args, Stdin: newPulse(o.Renew, ended), Stdout: one.said, Root: true})
	}()
	select {
	case <-one.said.locked:
		return one, nil
	case <-one.over:
		one.end()
		return nil, one.refused()
	case <-ctx.Done():
		one.release()
		return nil, ctx.Err()
	}
}

// refused is why a session ended that never held the lock.
func (h *hold) refused() error {
	exit, ok := errors.AsType[*host.ExitError](h.err)
	switch {
	case ok && exit.Code == codeLocked:
		var who state.Holder
		_ = json.NewDecoder(bytes.NewReader(h.said.first())).Decode(&who) // zero while it is being written
		return &state.LockedError{Path: h.host, Holder: who}
	case ok && exit.Code == codeNoProgram:
		return fmt.Errorf("lock %s: the host lacks flock or timeout: install util-linux and coreutils there: %s", h.host, exit.Stderr)
	case ok:
		return fmt.Errorf("lock %s: exit code %d: %s", h.host, exit.Code, exit.Stderr)
	case h.err == nil:
		return fmt.Errorf("lock %s: the session ended without a word", h.host)
	}
	return h.err
}

// watch tells when the lock on this host is lost.
func (h *hold) watch(o Options, lost func(error)) {
	silence := time.NewTimer(o.Silence)
	defer silence.Stop()
	for {
		select {
		case <-h.said.line:
			silence.Reset(o.Silence)
		case <-silence.C:
			h.kill()
			lost(fmt.Errorf("%s: no answer for %v", h.host, o.Silence))
			return
		case <-h.over:
			h.end()
			lost(h.gone())
			return
		}
	}
}

// gone is why a session ended that held the lock.
func (h *hold) gone() error {
	if _, ended := errors.AsType[*host.ExitError](h.err); ended || h.err == nil {
		return fmt.Errorf("%s: it was taken away there", h.host)
	}
	return h.err
}

// release ends the session and waits for that, but not for a host that does not answer.
func (h *hold) release() {
	defer h.kill()
	h.end()
	patience := time.NewTimer(releasePatient)
	defer patience.Stop()
	select {
	case <-h.over:
	case <-patience.C:
	}
}

// pulse is the session's input: a line each time, and the end when it is released.
type pulse struct {
	tick  *time.Ticker
	ended <-chan struct{}
}

func newPulse(every time.Duration, ended <-chan struct{}) io.Reader {
	return pulse{time.NewTicker(every), ended}
}

// Read waits for the next line.
func (p pulse) Read(b []byte) (int, error) {
	select {
	case <-p.ended:
		p.tick.Stop()
		return 0, io.EOF
	case <-p.tick.C:
		return copy(b, "held\n"), nil
	}
}

// answers is the session's output.
type answers struct {
	locked chan struct{} // closed when the lock is held
	line   chan struct{} // something was said since it was last looked at

	mu   sync.Mutex
	text []byte // what was said at first
}

// firstLines is more than a holder's text takes.
const firstLines = 4 << 10

func newAnswers() *answers {
	return &answers{locked: make(chan struct{}), line: make(chan struct{}, 1)}
}

// Write takes what the session says.
func (a *answers) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.text) < firstLines {
		before := bytes.Contains(a.text, []byte("\n"))
		a.text = append(a.text, p...)
		if !before && bytes.HasPrefix(a.text, []byte("locked\n")) {
			close(a.locked)
		}
	}
	select {
	case a.line <- struct{}{}:
	default:
	}
	return len(p), nil
}

func (a *answers) first() []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	return bytes.Clone(a.text)
}
