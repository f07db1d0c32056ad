package view

import (
	"fmt"
	"strings"
	"time"

	"clusterctl/provision/event"
)

// frameTime is how often the live region is drawn.
const frameTime = 125 * time.Millisecond

// liveProgress keeps what goes on in the console's live region. What is over, and what a person
// should see later, becomes a permanent line above it.
type liveProgress struct {
	console *Console
	color   palette
	work    work
	closed  bool
}

func (p *liveProgress) event(e event.Event) {
	phase, started := p.work.apply(e)
	if text := p.permanent(e, phase, started); text != "" {
		p.draw(text, e.Time)
	}
}

func (p *liveProgress) tick(now time.Time) { p.draw("", now) }

func (p *liveProgress) close() {
	p.closed = true
	p.draw("", time.Time{})
}

func (p *liveProgress) draw(text string, now time.Time) {
	var region []string
	if !p.closed {
		region = p.region(now, p.console.terminalSize().height-1)
	}
	_ = p.console.update(text, region) // see Progress on write errors
}

// permanent is the line that stays for an event, or "".
func (p *liveProgress) permanent(e event.Event, phase *phaseWork, started time.Time) string {
	var mark, text string
	switch {
	case e.Kind == event.PhaseEnd && e.Err != nil:
		mark, text = p.color.red("✗"), p.color.bold(oneLine(e.Phase))+" "+firstThenIndented(phaseEndText(e, phase))
	case e.Kind == event.PhaseEnd:
		mark, text = p.color.green("✓"), p.color.bold(oneLine(e.Phase))+" "+oneLine(phaseEndText(e, phase))
	case e.Kind == event.StepEnd && e.Err != nil:
		mark, text = p.color.red("✗"), firstThenIndented(joinHost(e.Host, withError(e.Text, e.Err)))
	case e.Kind == event.StepEnd && tookOf(e, started) >= notableTime:
		mark, text = " ", p.color.faint(oneLine(joinHost(e.Host, e.Text))+" "+humanDuration(tookOf(e, started)))
	case e.Kind == event.Note:
		mark, text = " ", firstThenIndented(joinHost(e.Host, withError(e.Text, e.Err)))
	case e.Kind == event.Warning:
		mark, text = p.color.yellow("!"), firstThenIndented(joinHost(e.Host, withError(e.Text, e.Err)))
	default:
		return ""
	}
	return mark + " " + text + "\n"
}

// firstThenIndented keeps the lines of text under each other behind a mark.
func firstThenIndented(text string) string { return strings.Join(lines(text), "\n  ") }

// region is the live lines: phases, below each what it waits for and what its hosts do. When
// they are more than height the last one says how many are left out.
func (p *liveProgress) region(now time.Time, height int) []string {
	var out []string
	for _, phase := range p.work.phases {
		out = append(out, p.phaseLine(phase, now))
		for _, w := range phase.freshWaits(now) {
			out = append(out, fmt.Sprintf("    waiting for %s %s", p.color.yellow(oneLine(waitText(w))), p.color.faint(wholeSeconds(now.Sub(w.start)))))
		}
		for _, s := range phase.steps {
			out = append(out, fmt.Sprintf("    %s %s", oneLine(joinHost(s.host, s.text)), p.color.faint(wholeSeconds(now.Sub(s.start)))))
		}
	}
	if height = max(1, height); len(out) > height {
		left := len(out) - height + 1
		out = append(out[:height-1], p.color.faint(fmt.Sprintf("    … and %d more", left)))
	}
	return out
}

func (p *liveProgress) phaseLine(phase *phaseWork, now time.Time) string {
	frames := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	frame := frames[now.UnixMilli()/frameTime.Milliseconds()%int64(len(frames))]
	line := fmt.Sprintf("%c %s", frame, p.color.bold(oneLine(phase.name)))
	if phase.total > 0 {
		line += fmt.Sprintf(" %d/%d", phase.done, phase.total)
	}
	return line + " " + p.color.faint(wholeSeconds(now.Sub(phase.start)))
}
