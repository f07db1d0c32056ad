package sshhost

import (
	"errors"
	"io"
	"sync"
)

// input feeds a command's standard input: the password if sudo asks for it, then, once the
// command itself runs, what is meant for the command. So the password can never become the
// command's input, also when sudo did not want it.
type input struct {
	w    io.WriteCloser
	wire *wire
	over <-chan struct{}
	pass secret
	feed func(io.Writer) error

	mu    sync.Mutex
	again bool
	err   error
}

func (in *input) run() {
	defer func() { _ = in.w.Close() }() // io.EOF when the command is over
	if in.pass.isSet() && !in.login() {
		return
	}
	if in.feed == nil {
		return
	}
	out := &noting{w: in.w}
	if err := in.feed(out); err != nil && !errors.Is(err, out.err) {
		in.mu.Lock()
		in.err = err // the source is broken, not the command
		in.mu.Unlock()
	}
}

// login answers sudo and waits until the command runs. It is false when it will not.
func (in *input) login() bool {
	select {
	case <-in.wire.prompt:
	case <-in.wire.started: // no password was wanted
		return true
	case <-in.over:
		return false
	}
	if _, err := io.WriteString(in.w, in.pass.reveal()+"\n"); err != nil {
		return false
	}
	select {
	case <-in.wire.started:
		return true
	case <-in.wire.prompt:
		in.mu.Lock()
		in.again = true
		in.mu.Unlock()
	case <-in.over:
	}
	return false
}

// askedAgain says whether sudo wanted another password than ours.
func (in *input) askedAgain() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.again
}

// failure is why the input could not be read to its end.
func (in *input) failure() error {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.err
}

// noting remembers its writer's error, which only says that the command reads no more.
type noting struct {
	w   io.Writer
	err error
}

func (n *noting) Write(p []byte) (int, error) {
	c, err := n.w.Write(p)
	if err != nil {
		n.err = err
	}
	return c, err
}
