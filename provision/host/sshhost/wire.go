package sshhost

import (
	"bytes"
	"strconv"
	"sync"
)

const (
	startMark  = "clusterctl-start:" // then the process group and a newline
	promptMark = "clusterctl-sudo-password:"
	stderrKept = 64 << 10 // bytes
)

// starter is run by the remote sh: it tells its process group (proc_pid_stat(5), field 5), so
// that a cancelled command can be ended with all its children, then becomes the command.
const starter = `LC_ALL=C; export LC_ALL; read -r a b c d g e </proc/$$/stat; echo "` + startMark + `$g" >&2; exec "$@"`

// wire reads a command's standard error: first sudo's prompts and the start mark, then what
// the command itself prints, of which the end is kept.
type wire struct {
	prompt  chan struct{} // sudo asks for the password; one value per question
	started chan struct{} // the command itself runs now

	mu    sync.Mutex
	head  []byte // not yet understood, before the start
	begun bool
	group int
	kept  []byte
}

func newWire() *wire {
	return &wire{prompt: make(chan struct{}, 8), started: make(chan struct{})}
}

// Write takes the next piece of standard error.
func (w *wire) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.begun {
		w.keep(p)
		return len(p), nil
	}
	w.head = append(w.head, p...)
	for {
		i := bytes.Index(w.head, []byte(promptMark))
		if i < 0 {
			break
		}
		w.head = append(w.head[:i], w.head[i+len(promptMark):]...)
		select {
		case w.prompt <- struct{}{}:
		default: // nobody counts that far
		}
	}
	w.findStart()
	if n := len(w.head); n > stderrKept {
		w.head = w.head[n-stderrKept:]
	}
	return len(p), nil
}

// findStart looks for the start mark. What came before it is noise of the login: a banner of
// the shell, sudo's lecture.
func (w *wire) findStart() {
	i := bytes.Index(w.head, []byte(startMark))
	if i < 0 {
		return
	}
	rest := w.head[i+len(startMark):]
	end := bytes.IndexByte(rest, '\n')
	if end < 0 {
		return
	}
	w.group, _ = strconv.Atoi(string(rest[:end])) // starter writes a number
	w.begun = true
	close(w.started)
	w.keep(rest[end+1:])
	w.head = nil
}

func (w *wire) keep(p []byte) {
	w.kept = append(w.kept, p...)
	if n := len(w.kept); n > 2*stderrKept {
		w.kept = append([]byte(nil), w.kept[n-stderrKept:]...)
	}
}

// stderr gives the end of what the command printed, or what was said instead of starting it.
func (w *wire) stderr() []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.kept
	if !w.begun {
		out = w.head
	}
	return bytes.Clone(out[max(0, len(out)-stderrKept):])
}

func (w *wire) isStarted() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.begun
}

func (w *wire) processGroup() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.group
}
