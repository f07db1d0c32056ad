package sshhost

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"clusterctl/provision/host"
)

const (
	killGrace = 5 * time.Second // from SIGTERM to SIGKILL of a cancelled command, and on to giving it up
	stderrMsg = 4 << 10         // bytes of standard error in an ExitError
)

// Run executes one command; see host.Host. A cancelled command gets SIGTERM, then SIGKILL,
// with its whole process group. When the connection is lost the command's outcome is unknown:
// it is not run again.
func (h *Host) Run(ctx context.Context, c host.Cmd) (host.Result, error) {
	var out bytes.Buffer
	stdout := c.Stdout
	if stdout == nil {
		stdout = &out
	}
	x := execution{args: c.Args, root: c.Root, stdout: stdout}
	if c.Stdin != nil {
		x.feed = func(w io.Writer) error {
			_, err := io.Copy(w, c.Stdin)
			return err
		}
	}
	stderr, err := h.execute(ctx, x)
	if errors.Is(err, errDetached) {
		return host.Result{Stderr: stderr}, ctx.Err() // out may still be written to
	}
	return host.Result{Stdout: out.Bytes(), Stderr: stderr}, err
}

// errDetached says that a cancelled command was given up while it may still be running.
var errDetached = errors.New("given up")

// execution is one command to execute.
type execution struct {
	args   []string
	root   bool
	stdout io.Writer
	feed   func(io.Writer) error // writes standard input; nil: empty

	urgent bool // do not queue for a slot; when cancelled, leave the command alone
}

// commandLine is what sshd's login shell gets. The shell gives way to the command: were it to
// stay, a signal could end the shell alone and the session with it.
func (h *Host) commandLine(x execution, withPassword bool) (string, error) {
	if len(x.args) == 0 || x.args[0] == "" || strings.HasPrefix(x.args[0], "-") {
		return "", fmt.Errorf("%s: run %q: it names no program", h.name, x.args)
	}
	for _, a := range x.args {
		if strings.ContainsRune(a, 0) {
			return "", fmt.Errorf("%s: run %s: an argument holds a NUL byte", h.name, x.args[0])
		}
	}
	var argv []string
	switch {
	case !h.throughSudo(x):
	case withPassword:
		argv = []string{"env", "LC_ALL=C", "sudo", "-k", "-S", "-p", promptMark, "--"}
	default:
		argv = []string{"env", "LC_ALL=C", "sudo", "-n", "--"}
	}
	argv = append(argv, "sh", "-c", starter, "clusterctl")
	return "exec " + quote(append(argv, x.args...)), nil
}

func (h *Host) throughSudo(x execution) bool { return x.root && h.ssh.User != "root" }

// execute runs x in a session of its own and gives the end of its standard error.
func (h *Host) execute(ctx context.Context, x execution) ([]byte, error) {
	var pass secret
	if h.throughSudo(x) && h.ssh.SudoPassword {
		var err error
		if pass, err = h.password(); err != nil {
			return nil, h.unreachable(err)
		}
	}
	line, err := h.commandLine(x, pass.isSet())
	if err != nil {
		return nil, err
	}
	s, err := h.open(ctx, x.urgent)
	if err != nil {
		return nil, err
	}
	defer s.close()
	return h.runIn(ctx, s, line, pass, x)
}

func (h *Host) runIn(ctx context.Context, s *session, line string, pass secret, x execution) ([]byte, error) {
	w := newWire()
	out := &detachable{w: x.stdout}
	s.Stdout, s.Stderr = out, w
	stdin, err := s.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("%s: run %s: %w", h.name, x.args[0], err)
	}
	over := make(chan struct{})
	in := &input{w: stdin, wire: w, over: over, pass: pass, feed: x.feed}
	var exit error
	go func() {
		defer close(over)
		if exit = s.Start(line); exit == nil {
			go in.run() // not before: sshd forgets an end of input that comes before the command
			exit = s.Wait()
		}
	}()

	select {
	case <-over:
	case <-ctx.Done():
		h.stop(ctx, s, w, x, over)
		select {
		case <-over:
			return w.stderr(), ctx.Err()
		default:
			out.detach()
			return w.stderr(), errors.Join(errDetached, ctx.Err())
		}
	}
	return w.stderr(), h.outcome(s, w, x, in, exit)
}

// outcome makes the error of a command that is over.
func (h *Host) outcome(s *session, w *wire, x execution, in *input, exit error) error {
	var code *ssh.ExitError
	switch {
	case exit == nil:
		return in.failure()
	case errors.As(exit, &code) && w.isStarted():
		if err := in.failure(); err != nil {
			return err
		}
		stderr := w.stderr()
		return &host.ExitError{Host: h.name, Args: x.args, Code: code.ExitStatus(),
			Stderr: string(stderr[max(0, len(stderr)-stderrMsg):])}
	case errors.As(exit, &code) && h.throughSudo(x):
		return h.unreachable(sudoRefusal(h.ssh.User, in.askedAgain(), w.stderr()))
	case errors.As(exit, &code):
		return h.unreachable(fmt.Errorf("the login shell of %s ran no command: exit code %d: %s",
			h.ssh.User, code.ExitStatus(), bytes.TrimSpace(w.stderr())))
	default:
		return h.lost(s.link, fmt.Errorf("run %s: %w", x.args[0], exit))
	}
}

// stop ends a cancelled command: politely, then not. It gives up after a few seconds.
func (h *Host) stop(ctx context.Context, s *session, w *wire, x execution, over <-chan struct{}) {
	defer s.close()
	if x.urgent {
		return
	}
	for _, sig := range []ssh.Signal{ssh.SIGTERM, ssh.SIGKILL} {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), killGrace)
		sent := make(chan error, 1)
		go func() { sent <- h.signal(bounded, w, x, sig) }()
		if !waitSignal(bounded, sent, over) {
			cancel()
			_ = s.Signal(sig) // the next best; then the session is closed
			return
		}
		cancel()
		select {
		case <-over:
			return
		default:
		}
	}
}

// waitSignal waits for the end of a command that is sent a signal, as long as ctx lasts. It
// is false when the signal cannot be sent.
func waitSignal(ctx context.Context, sent <-chan error, over <-chan struct{}) bool {
	select {
	case err := <-sent:
		if err != nil {
			return false
		}
	case <-over:
		return true
	case <-ctx.Done():
		return true
	}
	select {
	case <-over:
	case <-ctx.Done():
	}
	return true
}

// signal sends a signal to the command's process group. sshd passes signals on only for
// logins of other users than root, so that kill does it in a session of its own.
func (h *Host) signal(ctx context.Context, w *wire, x execution, sig ssh.Signal) error {
	select {
	case <-w.started: // before that its process group is not known
	case <-ctx.Done():
		return ctx.Err()
	}
	group := w.processGroup()
	if group <= 1 { // 0 is kill's own group, 1 stands for all processes: kill(2)
		return fmt.Errorf("process group %d cannot be sent a signal", group)
	}
	kill := execution{root: x.root, stdout: io.Discard, urgent: true, args: []string{
		"sh", "-c", `kill -s "$1" -- "-$2"`, "clusterctl-kill", string(sig), strconv.Itoa(group)}}
	_, err := h.execute(ctx, kill)
	var exit *host.ExitError
	if errors.As(err, &exit) {
		err = nil // it is gone already
	}
	if err != nil {
		h.log.Debug("end a cancelled command", "signal", string(sig), "error", err)
	}
	return err
}

// detachable is a writer that can be taken away from those who still write.
type detachable struct {
	mu sync.Mutex
	w  io.Writer
}

func (d *detachable) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.w == nil {
		return len(p), nil
	}
	return d.w.Write(p)
}

func (d *detachable) detach() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.w = nil
}
