// Package kill runs the program under test and kills it (SIGKILL) at moments that chance picks, again
// and again, until it has brought a cluster up.
package kill

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// Resume is one bring-up with many kills.
type Resume struct {
	Program string
	Spec    string
	Env     []string // beside this process's own
	Kills   int
	Steps   int // of a whole bring-up: the kills are spread over them
	// More changes the spec when the cluster is up before all kills are spent.
	More func() error
	Log  func(format string, args ...any)
	Rand *rand.Rand
}

// Run kills the program Kills times and lets it finish then. It gives how often the run after a kill
// went on from there: it is the same number when all is well.
func (r Resume) Run(ctx context.Context) (resumed int, err error) {
	work := r.Steps
	for n := 0; n < r.Kills; {
		m := r.moment(n, work)
		o, err := r.start(ctx, m)
		if err != nil {
			return resumed, err
		}
		if !o.killed && o.code != 0 {
			return resumed, fmt.Errorf("after %d kills up ended with %d:\n%s", n, o.code, o.text)
		}
		if !o.killed {
			r.Log("up was done before kill %d", n+1)
			if err := r.More(); err != nil {
				return resumed, err
			}
			work = 0 // a change of the spec is a step or two
			continue
		}
		n++
		r.Log("kill %d of %d: %s, %v later, in phase %s after %d steps", n, r.Kills, m, m.pause.Round(time.Millisecond), o.phase, o.steps)
		if n > 1 {
			resumed++
		}
	}
	o, err := r.start(ctx, moment{never: true})
	if err == nil && o.code != 0 {
		err = fmt.Errorf("after %d kills up ended with %d:\n%s", r.Kills, o.code, o.text)
	}
	if err == nil && r.Kills > 0 {
		resumed++
	}
	return resumed, err
}

// moment is when to kill: some time after the start or after a number of steps.
type moment struct {
	never bool
	steps int
	pause time.Duration
}

func (m moment) String() string {
	if m.steps == 0 {
		return "at the start"
	}
	return fmt.Sprintf("after step %d", m.steps)
}

// moment picks when to kill: each fourth time in what comes before the first step, else after as many
// steps that the kills are spread over the whole work.
func (r Resume) moment(n, work int) moment {
	if n%4 == 0 {
		return moment{pause: time.Duration(r.Rand.IntN(4000)) * time.Millisecond}
	}
	return moment{steps: 1 + r.Rand.IntN(max(1, 2*work/r.Kills)), pause: time.Duration(r.Rand.IntN(300)) * time.Millisecond}
}

// outcome is how one run ended.
type outcome struct {
	killed bool
	code   int
	steps  int
	phase  string // the last that began
	text   string // what it said
}

// start runs up until its end or until the moment has come.
func (r Resume) start(ctx context.Context, m moment) (outcome, error) {
	cmd := exec.CommandContext(ctx, r.Program, "up", r.Spec, "--yes", "-o", "json")
	cmd.Env = append(os.Environ(), r.Env...)
	w := newWatcher(m)
	cmd.Stderr, cmd.Stdout = w, io.Discard
	if err := cmd.Start(); err != nil {
		return outcome{}, err
	}
	ended := make(chan struct{})
	killed := make(chan bool, 1)
	go func() {
		killed <- r.wait(w, m, ended) && cmd.Process.Kill() == nil
	}()
	err := cmd.Wait()
	close(ended)
	o := w.outcome()
	o.killed = <-killed && !cmd.ProcessState.Exited()
	o.code = cmd.ProcessState.ExitCode()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		return o, err
	}
	return o, ctx.Err()
}

// wait waits for the moment; it is false when the run ends before.
func (r Resume) wait(w *watcher, m moment, ended <-chan struct{}) bool {
	if m.never {
		return false
	}
	select {
	case <-w.reached:
	case <-ended:
		return false
	}
	pause := time.NewTimer(m.pause) // a random moment is what this is for
	defer pause.Stop()
	select {
	case <-pause.C:
		return true
	case <-ended:
		return false
	}
}

// watcher reads the lines of a run and counts its steps.
type watcher struct {
	target  int
	reached chan struct{} // closed when as many steps are over

	mu      sync.Mutex
	rest    []byte
	text    strings.Builder
	current outcome
}

func newWatcher(m moment) *watcher {
	w := &watcher{target: m.steps, reached: make(chan struct{})}
	if w.target == 0 {
		close(w.reached)
	}
	return w
}

// Write takes what the run says.
func (w *watcher) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text.Write(p)
	w.rest = append(w.rest, p...)
	for {
		line, rest, found := bytes.Cut(w.rest, []byte("\n"))
		if !found {
			return len(p), nil
		}
		w.rest = rest
		w.line(line)
	}
}

func (w *watcher) line(line []byte) {
	var e struct{ Kind, Phase string }
	if json.Unmarshal(line, &e) != nil {
		return
	}
	switch e.Kind {
	case "phase-start":
		w.current.phase = e.Phase
	case "step-end":
		w.current.steps++
		if w.current.steps == w.target {
			close(w.reached)
		}
	}
}

func (w *watcher) outcome() outcome {
	w.mu.Lock()
	defer w.mu.Unlock()
	o := w.current
	o.text = w.text.String()
	return o
}
