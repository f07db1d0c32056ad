package view

import (
	"cmp"
	"slices"
	"time"

	"clusterctl/provision/event"
)

// waitFresh is how long a wait that is not reported again counts as going on: events tell that
// a condition is not good yet, but not that it has become good.
const waitFresh = 15 * time.Second

// work is what goes on now, built from events.
type work struct {
	phases []*phaseWork // in the order of their start
}

// phaseWork is a phase that runs.
type phaseWork struct {
	name        string
	start       time.Time
	total, done int        // steps
	failed      bool       // a step has reported an error
	steps       []stepWork // running, by host
	waits       []waitWork // gates that are not good, by host and text
}

type stepWork struct {
	host, text string
	start      time.Time
}

type waitWork struct {
	host, text string
	err        error // the last one, may be nil
	start      time.Time
	seen       time.Time
}

// apply changes the state by one event. It returns the phase that e is about, also when e ends
// it, and nil for an event outside of phases. started is when the step that e ends began.
func (w *work) apply(e event.Event) (phase *phaseWork, started time.Time) {
	switch e.Kind {
	case event.PhaseStart:
		phase = w.phase(e)
		phase.total = e.Total
	case event.PhaseEnd:
		phase = w.phase(e)
		w.phases = slices.DeleteFunc(w.phases, func(p *phaseWork) bool { return p == phase })
	case event.StepStart:
		phase = w.phase(e)
		phase.begin(e)
	case event.StepEnd:
		phase = w.phase(e)
		started = phase.end(e)
	case event.Wait:
		phase = w.phase(e)
		phase.wait(e)
	}
	return phase, started
}

// phase finds e's phase, or begins it: steps may be reported without a PhaseStart.
func (w *work) phase(e event.Event) *phaseWork {
	for _, p := range w.phases {
		if p.name == e.Phase {
			return p
		}
	}
	p := &phaseWork{name: e.Phase, start: e.Time}
	w.phases = append(w.phases, p)
	return p
}

func (p *phaseWork) begin(e event.Event) {
	p.calm(e.Host)
	p.steps = append(p.steps, stepWork{e.Host, e.Text, e.Time})
	slices.SortStableFunc(p.steps, func(a, b stepWork) int { return cmp.Compare(a.host, b.host) })
}

// end removes the step and returns when it began. Steps of one host end in any order; a text
// that is not known ends the host's oldest step.
func (p *phaseWork) end(e event.Event) time.Time {
	p.done++
	p.failed = p.failed || e.Err != nil
	p.calm(e.Host)
	i := slices.IndexFunc(p.steps, func(s stepWork) bool { return s.host == e.Host && s.text == e.Text })
	if i < 0 {
		i = slices.IndexFunc(p.steps, func(s stepWork) bool { return s.host == e.Host })
	}
	if i < 0 {
		return e.Time
	}
	start := p.steps[i].start
	p.steps = slices.Delete(p.steps, i, i+1)
	return start
}

// calm forgets the waits of a host that goes on.
func (p *phaseWork) calm(host string) {
	p.waits = slices.DeleteFunc(p.waits, func(w waitWork) bool { return w.host == host })
}

func (p *phaseWork) wait(e event.Event) {
	i := slices.IndexFunc(p.waits, func(w waitWork) bool { return w.host == e.Host && w.text == e.Text })
	if i < 0 {
		p.waits = append(p.waits, waitWork{host: e.Host, text: e.Text, start: e.Time})
		slices.SortStableFunc(p.waits, func(a, b waitWork) int {
			return cmp.Or(cmp.Compare(a.host, b.host), cmp.Compare(a.text, b.text))
		})
		i = slices.IndexFunc(p.waits, func(w waitWork) bool { return w.host == e.Host && w.text == e.Text })
	}
	p.waits[i].err, p.waits[i].seen = e.Err, e.Time
}

// freshWaits is the waits that still go on.
func (p *phaseWork) freshWaits(now time.Time) []waitWork {
	var fresh []waitWork
	for _, w := range p.waits {
		if now.Sub(w.seen) <= waitFresh {
			fresh = append(fresh, w)
		}
	}
	return fresh
}
