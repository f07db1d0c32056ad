package bundle

import (
	"context"
	"time"
)

// Step is where the building of an artifact stands.
type Step string

// The steps in their order. An artifact that was built before goes from
// StepWait to StepReuse.
const (
	StepWait  Step = "wait"  // for another builder of the same artifact
	StepBuild Step = "build" // go build runs; repeated every heartbeat
	StepCheck Step = "check" // the program is asked for its version
	StepPack  Step = "pack"  // image and digest are made
	StepDone  Step = "done"
	StepReuse Step = "reuse" // nothing to do: the same inputs were built before
)

// Event tells of progress.
type Event struct {
	Component string        `json:"component"`
	Artifact  string        `json:"artifact"`
	Step      Step          `json:"step"`
	Elapsed   time.Duration `json:"elapsed"` // since the artifact's first step
	Heartbeat bool          `json:"heartbeat,omitempty"`
}

// heartbeatEvery is how often a long step tells that it still runs.
const heartbeatEvery = 15 * time.Second

// track reports the steps of one artifact.
type track struct {
	event   Event
	started time.Time
	report  func(Event)
}

func (t *track) step(s Step) {
	t.event.Step = s
	t.send(false)
}

func (t *track) send(heartbeat bool) {
	if t.report == nil {
		return
	}
	e := t.event
	e.Elapsed, e.Heartbeat = time.Since(t.started), heartbeat
	t.report(e)
}

// long runs work and repeats the current step until it ends.
func (t *track) long(ctx context.Context, work func(context.Context) error) error {
	done := make(chan error, 1)
	go func() { done <- work(ctx) }()
	ticker := time.NewTicker(heartbeatEvery)
	defer ticker.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-ticker.C:
			t.send(true)
		}
	}
}
