package view

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"clusterctl/provision/event"
)

const (
	// heartbeatTime is the longest silence while a phase runs: CI systems end jobs that say
	// nothing, and people need to know what is being waited for.
	heartbeatTime = 10 * time.Second
	// notableTime is how long a step must take to get a line of its own.
	notableTime = 5 * time.Second
)

// plainProgress writes one line per start and end of a phase, per step that failed or took
// long, and per note and warning, and a heartbeat.
type plainProgress struct {
	w    io.Writer
	work work
}

func (p *plainProgress) event(e event.Event) {
	phase, started := p.work.apply(e)
	switch e.Kind {
	case event.PhaseStart:
		if e.Total == 0 {
			return // a phase with nothing to do is told of when it takes time
		}
		p.line(e.Time, e.Phase, "started, "+plural(e.Total, "step"))
	case event.PhaseEnd:
		if e.Err == nil && phase.total == 0 && phase.done == 0 && tookOf(e, phase.start) < time.Second {
			return
		}
		p.line(e.Time, e.Phase, phaseEndText(e, phase))
	case event.StepEnd:
		took := tookOf(e, started)
		switch {
		case e.Err != nil:
			p.line(e.Time, e.Phase, e.Host, e.Text, "error: "+e.Err.Error())
		case took >= notableTime:
			p.line(e.Time, e.Phase, e.Host, e.Text, "done in "+humanDuration(took))
		}
	case event.Note:
		p.line(e.Time, e.Phase, e.Host, withError(e.Text, e.Err))
	case event.Warning:
		p.line(e.Time, e.Phase, e.Host, "warning: "+withError(e.Text, e.Err))
	}
}

func (p *plainProgress) tick(now time.Time) {
	for _, phase := range p.work.phases {
		if now.Sub(phase.start) < time.Second {
			continue // its start has just been told
		}
		p.line(now, phase.name, heartbeat(phase, now))
	}
}

func (*plainProgress) close() {}

// line writes one line of the parts that are not empty. A message of several lines becomes one.
func (p *plainProgress) line(at time.Time, parts ...string) {
	for i, part := range parts {
		parts[i] = strings.ReplaceAll(strings.Join(lines(part), "; "), ":; ", ": ")
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	_, _ = fmt.Fprintf(p.w, "%s %s\n", at.UTC().Format("15:04:05Z"), strings.Join(parts, ": ")) // see Progress on write errors
}

// heartbeat says what a phase waits for: its gates when there are such, else its steps.
func heartbeat(p *phaseWork, now time.Time) string {
	text := "running for " + wholeSeconds(now.Sub(p.start))
	if p.total > 0 {
		text += fmt.Sprintf(", %d of %s done", p.done, plural(p.total, "step"))
	}
	var on []string
	for _, w := range p.freshWaits(now) {
		on = append(on, waitText(w))
	}
	for _, s := range p.steps {
		on = append(on, fmt.Sprintf("%s (%s)", joinHost(s.host, s.text), wholeSeconds(now.Sub(s.start))))
	}
	const most = 5
	if len(on) > most {
		on = append(on[:most], fmt.Sprintf("and %d more", len(on)-most))
	}
	if len(on) > 0 {
		text += "; waiting for " + strings.Join(on, "; ")
	}
	return text
}

func waitText(w waitWork) string { return withError(joinHost(w.host, w.text), w.err) }

func phaseEndText(e event.Event, p *phaseWork) string {
	took := humanDuration(tookOf(e, p.start))
	switch {
	case e.Err != nil && p.failed: // the step has told why
		return "stopped after " + took
	case e.Err != nil:
		return fmt.Sprintf("stopped after %s: %v", took, e.Err)
	}
	if p.done == 0 {
		return "done in " + took
	}
	return fmt.Sprintf("done in %s, %s", took, plural(p.done, "step"))
}

func tookOf(e event.Event, start time.Time) time.Duration {
	if e.Took > 0 {
		return e.Took
	}
	return e.Time.Sub(start)
}

func withError(text string, err error) string {
	switch {
	case err == nil:
		return text
	case text == "":
		return err.Error()
	}
	return text + ": " + err.Error()
}

func joinHost(host, text string) string {
	if host == "" {
		return text
	}
	return host + ": " + text
}
