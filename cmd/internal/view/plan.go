package view

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Verb says what a change or a step does. Others than these are shown as they are.
type Verb string

const (
	Create  Verb = "create"
	Update  Verb = "update"
	Start   Verb = "start"
	Restart Verb = "restart"
	Delete  Verb = "delete"
	Keep    Verb = "keep" // of a provider; not a change, never shown
)

// Plan is what a run would change.
type Plan struct {
	Cluster  string      `json:"cluster"`
	Provider []Change    `json:"provider"` // machines and what belongs to them
	Phases   []PhasePlan `json:"phases"`   // in the order of the run; those without steps may be left out
	Notes    []string    `json:"notes"`    // what a reader must know, such as what cannot be planned yet
}

// Change is one change of a provider.
type Change struct {
	Verb   Verb   `json:"verb"`
	Kind   string `json:"kind"`
	Name   string `json:"name"`
	Detail string `json:"detail,omitempty"`
}

// PhasePlan is the steps of one phase.
type PhasePlan struct {
	Name  string     `json:"name"`
	Doc   string     `json:"doc,omitempty"`
	Hosts []HostPlan `json:"hosts"`
}

// HostPlan is the steps on one host, in order. Host is empty for the cluster as a whole.
type HostPlan struct {
	Host  string `json:"host"`
	Steps []Step `json:"steps"`
}

// Step is one change on a host.
type Step struct {
	Verb  Verb   `json:"verb"`
	Kind  string `json:"kind"`          // of the resource: file, unit, ...
	Title string `json:"title"`         // one line, no secrets
	Why   string `json:"why,omitempty"` // the reason
}

// Summary counts a plan's changes, the provider's and the steps on hosts.
type Summary struct {
	Total int          `json:"total"`
	Verbs map[Verb]int `json:"verbs"`
	Hosts int          `json:"hosts"` // that have steps
}

// Summary counts the changes.
func (p Plan) Summary() Summary {
	s := Summary{Verbs: map[Verb]int{}}
	hosts := map[string]bool{}
	for _, c := range p.changes() {
		s.Total++
		s.Verbs[c.Verb]++
	}
	for _, phase := range p.Phases {
		for _, h := range phase.Hosts {
			for _, step := range h.Steps {
				s.Total++
				s.Verbs[step.Verb]++
			}
			if len(h.Steps) > 0 && h.Host != "" {
				hosts[h.Host] = true
			}
		}
	}
	s.Hosts = len(hosts)
	return s
}

// Plan writes p. Markdown is for a comment on a pull request, see planMarkdown. As text, hosts of a phase that have the same steps are shown together unless
// full is set. JSON is never folded; its fields are those of [Plan] and "summary", a [Summary].
func (o Output) Plan(p Plan, full bool) error {
	if o.Format == Markdown {
		_, err := io.WriteString(o.W, o.planMarkdown(p))
		return err
	}
	answer := struct {
		Schema string `json:"schema"`
		Plan
		Summary Summary `json:"summary"`
	}{schema, p.complete(), p.Summary()}
	return o.write(answer, func() string { return o.planText(p, full) })
}

// changes is the provider's part without what stays.
func (p Plan) changes() []Change {
	return slices.DeleteFunc(slices.Clone(p.Provider), func(c Change) bool { return c.Verb == Keep })
}

// complete replaces lists that are nil, for JSON, and drops what does not change: hosts and
// phases without steps, and what the provider keeps.
func (p Plan) complete() Plan {
	p.Provider, p.Notes = orEmpty(p.changes()), orEmpty(p.Notes)
	phases := []PhasePlan{}
	for _, phase := range p.Phases {
		phase.Hosts = slices.DeleteFunc(slices.Clone(phase.Hosts), func(h HostPlan) bool { return len(h.Steps) == 0 })
		if len(phase.Hosts) > 0 {
			phases = append(phases, phase)
		}
	}
	p.Phases = phases
	return p
}

func (o Output) planText(p Plan, full bool) string {
	paint := palette(o.Color)
	p = p.complete()
	var b strings.Builder
	if len(p.Provider) > 0 {
		b.WriteString(paint.bold("provider") + "\n")
		for _, c := range p.Provider {
			b.WriteString("    " + stepLine(paint, c.Verb, c.Kind, c.Name, c.Detail) + "\n")
		}
		b.WriteString("\n")
	}
	for _, phase := range p.Phases {
		b.WriteString(phaseText(paint, phase, full) + "\n")
	}
	for _, note := range p.Notes {
		b.WriteString(paint.yellow("note:") + " " + oneLine(note) + "\n")
	}
	if s := p.Summary(); s.Total > 0 {
		b.WriteString(paint.bold("Cluster "+oneLine(p.Cluster)+": ") + s.text() + ".\n")
	} else {
		b.WriteString(paint.bold("Cluster "+oneLine(p.Cluster)+": ") + "No changes.\n")
	}
	return b.String()
}

func phaseText(paint palette, phase PhasePlan, full bool) string {
	var b strings.Builder
	b.WriteString(paint.bold(oneLine(phase.Name)))
	if phase.Doc != "" {
		b.WriteString(paint.faint(": " + oneLine(phase.Doc)))
	}
	b.WriteString("\n")
	groups := fold(phase.Hosts, func(a, b HostPlan) bool { return !full && slices.Equal(a.Steps, b.Steps) })
	for _, group := range groups {
		var names []string
		for _, h := range group {
			names = append(names, h.Host)
		}
		count := plural(len(group[0].Steps), "step")
		if len(group) > 1 {
			count += " each"
		}
		fmt.Fprintf(&b, "  %s: %s\n", hostNames(names), count)
		for _, s := range group[0].Steps {
			b.WriteString("    " + stepLine(paint, s.Verb, s.Kind, s.Title, s.Why) + "\n")
		}
	}
	return b.String()
}

// stepLine is a change on one line: + create file /etc/etcd/etcd.yaml (missing).
func stepLine(paint palette, verb Verb, kind, title, why string) string {
	line := oneLine(fmt.Sprintf("%s %s %s", verb, kind, title))
	if why != "" {
		line += paint.faint(" (" + oneLine(why) + ")")
	}
	switch verb {
	case Create:
		return paint.green("+") + " " + line
	case Delete:
		return paint.red("-") + " " + line
	}
	return paint.yellow("~") + " " + line
}

// text is the counts in a fixed order: 3 to create, 1 to restart, on 2 hosts.
func (s Summary) text() string {
	order := []Verb{Create, Update, Start, Restart, Delete}
	for _, verb := range slices.Sorted(maps.Keys(s.Verbs)) {
		if !slices.Contains(order, verb) {
			order = append(order, verb)
		}
	}
	var parts []string
	for _, verb := range order {
		if n := s.Verbs[verb]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d to %s", n, verb))
		}
	}
	text := strings.Join(parts, ", ")
	if s.Hosts > 0 {
		text += " on " + plural(s.Hosts, "host")
	}
	return text
}
