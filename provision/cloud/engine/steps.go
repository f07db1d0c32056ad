package engine

import (
	"slices"
	"strings"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/events"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
)

// Op is what happens to a thing.
type Op string

// The operations. What the engine does in several moves is one of them.
const (
	Same    Op = "same"
	Create  Op = "create"
	Update  Op = "update"
	Replace Op = "replace" // deleted and made anew
	Delete  Op = "delete"
	Adopt   Op = "adopt" // it is there, and from now on in the state
)

// Step is what happens to one thing.
type Step struct {
	Op        Op
	URN       string
	Type      string // such as aws:ec2/instance:Instance
	Name      string // in the program
	Parent    string // URN
	ID        string // empty before it is made
	Protected bool
	// Fields that differ, and among them those that force the replacement; dotted names.
	Fields, Forcing []string
	Old, New        map[string]any // inputs
}

// Progress is a step that begins, or, with Done, has ended.
type Progress struct {
	Step
	Done   bool
	Failed bool
	Took   time.Duration
}

// problem is what the engine or a plugin complained about.
type problem struct{ urn, text string }

// watcher listens to one run.
type watcher struct {
	events   chan events.EngineEvent
	quit     chan struct{}
	finished chan struct{}
	to       func(Progress)

	steps    map[string]*Step
	order    []string
	begun    map[string]time.Time
	problems []problem
}

func watch(to func(Progress)) *watcher {
	w := &watcher{
		events: make(chan events.EngineEvent, 256), quit: make(chan struct{}), finished: make(chan struct{}),
		to: to, steps: map[string]*Step{}, begun: map[string]time.Time{},
	}
	go w.listen()
	return w
}

func (w *watcher) listen() {
	defer close(w.finished)
	for {
		select {
		case e, ok := <-w.events:
			if !ok {
				return
			}
			w.take(e)
		case <-w.quit:
			return
		}
	}
}

// close ends the listening. A CLI that fails early never closes the stream, so what has not come a
// second after its end does not come.
func (w *watcher) close() ([]Step, []problem) {
	select {
	case <-w.finished:
	case <-time.After(time.Second):
		close(w.quit)
		<-w.finished
	}
	out := make([]Step, 0, len(w.order))
	for _, urn := range w.order {
		out = append(out, *w.steps[urn])
	}
	return out, w.problems
}

func (w *watcher) take(e events.EngineEvent) {
	switch {
	case e.ResourcePreEvent != nil:
		s := w.add(e.ResourcePreEvent.Metadata)
		if s != nil && !e.ResourcePreEvent.Planning {
			w.begin(s)
		}
	case e.ResOutputsEvent != nil && !e.ResOutputsEvent.Planning:
		w.end(e.ResOutputsEvent.Metadata, false)
	case e.ResOpFailedEvent != nil:
		w.end(e.ResOpFailedEvent.Metadata, true)
	case e.DiagnosticEvent != nil && e.DiagnosticEvent.Severity == "error":
		if text := clean(e.DiagnosticEvent.Message); !slices.Contains([]string{"update failed", "preview failed", "destroy failed"}, text) {
			w.problems = append(w.problems, problem{e.DiagnosticEvent.URN, text})
		}
	}
}

// add notes a step; nil for what is no thing of ours: the stack and providers.
func (w *watcher) add(m apitype.StepEventMetadata) *Step {
	if m.Type == "pulumi:pulumi:Stack" || strings.HasPrefix(m.Type, "pulumi:providers:") {
		return nil
	}
	s, known := w.steps[m.URN]
	if !known {
		s = &Step{URN: m.URN, Type: m.Type, Name: m.URN[strings.LastIndex(m.URN, "::")+2:]}
		w.steps[m.URN] = s
		w.order = append(w.order, m.URN)
	}
	op := opOf(m.Op)
	if s.Op != Replace { // the other moves of a replacement come before or after it
		s.Op = op
	}
	if len(m.Diffs) > 0 {
		s.Fields = m.Diffs
	}
	if len(m.Keys) > 0 {
		s.Forcing = m.Keys
	}
	for _, state := range []*apitype.StepEventStateMetadata{m.New, m.Old} {
		if state != nil {
			s.Parent = state.Parent
		}
	}
	if m.New != nil {
		s.New = m.New.Inputs
	}
	if m.Old != nil {
		s.ID, s.Protected, s.Old = m.Old.ID, m.Old.Protect, m.Old.Inputs
	}
	return s
}

func opOf(op apitype.OpType) Op {
	switch op {
	case apitype.OpCreate:
		return Create
	case apitype.OpUpdate:
		return Update
	case apitype.OpDelete:
		return Delete
	case apitype.OpReplace, apitype.OpCreateReplacement, apitype.OpDeleteReplaced, apitype.OpDiscardReplaced, apitype.OpReadReplacement, apitype.OpImportReplacement:
		return Replace
	case apitype.OpImport:
		return Adopt
	}
	return Same
}

func (w *watcher) begin(s *Step) {
	if _, begun := w.begun[s.URN]; begun || s.Op == Same || w.to == nil {
		return
	}
	w.begun[s.URN] = time.Now()
	w.to(Progress{Step: *s})
}

func (w *watcher) end(m apitype.StepEventMetadata, failed bool) {
	began, ok := w.begun[m.URN]
	if !ok || m.Op == apitype.OpDeleteReplaced && !failed { // the new one is still to come
		return
	}
	delete(w.begun, m.URN)
	s := *w.steps[m.URN]
	if m.New != nil && m.New.ID != "" {
		s.ID = m.New.ID
	}
	w.to(Progress{Step: s, Done: true, Failed: failed, Took: time.Since(began)})
}

// clean takes the engine's colour marks (<{%fg 1%}>) out of a message.
func clean(text string) string {
	for {
		from := strings.Index(text, "<{%")
		if from < 0 {
			return strings.TrimSpace(text)
		}
		to := strings.Index(text[from:], "%}>")
		if to < 0 {
			return strings.TrimSpace(text)
		}
		text = text[:from] + text[from+to+3:]
	}
}
