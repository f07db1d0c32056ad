// Package event is what long work reports while it runs. A Sink is the only way that
// packages below cmd speak to people.
package event

import "time"

// Kind says what an event is about.
type Kind string

const (
	PhaseStart Kind = "phase-start" // a phase begins; Total steps will follow
	PhaseEnd   Kind = "phase-end"   // a phase is over; Took is set, Err when it stopped there
	StepStart  Kind = "step-start"  // a step begins on Host
	StepEnd    Kind = "step-end"    // a step is over on Host; Err when it went wrong
	Wait       Kind = "wait"        // a gate is not good yet; Text is the condition, Err its last error
	Note       Kind = "note"        // something worth a line
	Warning    Kind = "warning"     // something a person should look at
)

// Event is one report. Text is for people and never holds a secret.
type Event struct {
	Time  time.Time
	Kind  Kind
	Phase string
	Host  string // empty for the cluster as a whole
	Text  string
	Total int // PhaseStart: steps to come
	Took  time.Duration
	Err   error
}

// Sink takes events. It is safe for concurrent use and does not block for long.
type Sink interface{ Emit(Event) }

// Func makes a function a Sink.
type Func func(Event)

// Emit calls f.
func (f Func) Emit(e Event) { f(e) }

// Discard takes events and drops them.
var Discard Sink = Func(func(Event) {})
