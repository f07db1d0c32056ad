package cloud

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"clusterctl/provision"
	"clusterctl/provision/cloud/engine"
	"clusterctl/provision/event"
)

// changes says the engine's steps in our words. The component around a host is not a thing; a host
// whose machine the engine would stop is one to replace.
func changes(k known, steps []engine.Step) []provision.Change {
	gone := unnamed(k, steps)
	var out []provision.Change
	for _, s := range steps {
		if s.Type == hostType {
			continue
		}
		c := provision.Change{Verb: verb(s.Op), Kind: k.kind.word(s.Type), Name: s.Name, Detail: detail(s)}
		if isHost(k, s) {
			c.Kind = "host"
			if stops(k, s) {
				c.Verb = provision.Replace
			}
			if m := k.cluster.Seen.Addresses[s.Name]; c.Detail == "" && m.IsValid() {
				c.Detail = m.String()
			}
			for _, m := range k.cluster.Machines {
				if m.Name == s.Name && s.Op == engine.Create {
					c.Detail = m.Address.String()
				}
			}
		}
		if s.Op == engine.Delete && slices.ContainsFunc(gone, func(g engine.Step) bool { return g.URN == s.URN }) {
			c.Detail = "not in the spec"
		}
		out = append(out, c)
	}
	return out
}

func verb(op engine.Op) provision.Verb {
	switch op {
	case engine.Create:
		return provision.Create
	case engine.Update:
		return provision.Update
	case engine.Replace:
		return provision.Replace
	case engine.Delete:
		return provision.Delete
	case engine.Adopt:
		return provision.Adopt
	}
	return provision.Keep
}

// detail names the fields that cause a step, with their values where these are short and plain.
func detail(s engine.Step) string {
	fields := s.Fields
	if s.Op == engine.Replace && len(s.Forcing) > 0 {
		fields = s.Forcing
	}
	if s.Op != engine.Replace && s.Op != engine.Update {
		return ""
	}
	var out []string
	for _, f := range slices.Sorted(slices.Values(fields)) {
		out = append(out, change(f, s.Old, s.New))
	}
	return strings.Join(out, ", ")
}

// change is one field: with its old and new value when both are short texts or numbers.
func change(field string, old, new map[string]any) string {
	plain := func(v any) (string, bool) {
		switch v.(type) {
		case string, float64, bool, int:
			text := fmt.Sprint(v)
			return text, len(text) <= 40
		}
		return "", false
	}
	from, ok := plain(old[field])
	to, also := plain(new[field])
	if !ok || !also {
		return field
	}
	return field + " " + from + " -> " + to
}

// isHost says whether a step is about the machine of a host; the bastion is none.
func isHost(k known, s engine.Step) bool {
	return s.Type == k.kind.machine && strings.Contains(s.Parent, hostType+"::")
}

// unnamed are the steps that delete a host, which the spec does not name, with all that is its own.
func unnamed(k known, steps []engine.Step) []engine.Step {
	named := map[string]bool{}
	for _, m := range k.cluster.Machines {
		named[m.Name] = true
	}
	var out []engine.Step
	for _, s := range steps {
		if name := hostOf(s); name != "" && s.Op == engine.Delete && !named[name] {
			out = append(out, s)
		}
	}
	return out
}

// hostOf is the host that a thing belongs to alone; empty for none.
func hostOf(s engine.Step) string {
	urn := s.URN
	if s.Type != hostType {
		urn = s.Parent
	}
	_, name, _ := strings.Cut(urn, hostType+"::")
	return name
}

// RefusedError says that the spec asks for what would take hosts of the cluster away.
type RefusedError struct{ Text string }

func (e *RefusedError) Error() string { return e.Text }

// ExitCode is the contract's code for a spec that cannot be followed.
func (e *RefusedError) ExitCode() int { return 3 }

// differing are the steps that would replace a machine of a host, stop it to change it, or replace a
// disk of its own with what is on it. The engine would do so to all hosts at once, etcd members
// among them.
func differing(k known, steps []engine.Step) []engine.Step {
	var out []engine.Step
	for _, s := range steps {
		if stops(k, s) || s.Op == engine.Replace && s.Type == k.kind.disk && hostOf(s) != "" {
			out = append(out, s)
		}
	}
	return out
}

// stops says whether a step replaces a host's machine, or changes what it must be stopped for.
func stops(k known, s engine.Step) bool {
	harmless := func(field string) bool {
		return slices.ContainsFunc(k.kind.harmless, func(h string) bool {
			return field == h || strings.HasPrefix(field, h+".") || strings.HasPrefix(field, h+"[")
		})
	}
	return isHost(k, s) && (s.Op == engine.Replace || s.Op == engine.Update && slices.ContainsFunc(s.Fields, func(f string) bool { return !harmless(f) }))
}

// refuse keeps the engine from what only one host at a time may go through.
func refuse(k known, steps []engine.Step) error {
	var lines []string
	for _, s := range differing(k, steps) {
		lines = append(lines, fmt.Sprintf("%s (%s)", s.Name, detail(s)))
	}
	if len(lines) == 0 {
		return nil
	}
	return &RefusedError{fmt.Sprintf("up neither replaces hosts nor stops them, and this spec would: %s; put the values back, or make the hosts anew, one after the other: clusterctl replace %s HOST --force",
		strings.Join(lines, ", "), k.cluster.Spec.Path)}
}

// progress turns the engine's progress into events.
func progress(k known, to event.Sink) func(engine.Progress) {
	return func(p engine.Progress) {
		if p.Type == hostType {
			return
		}
		e := event.Event{Time: time.Now(), Kind: event.StepStart, Phase: "hosts", Text: fmt.Sprintf("%s %s %s", p.Op, k.kind.word(p.Type), p.Name)}
		if isHost(k, p.Step) {
			e.Host, e.Text = p.Name, fmt.Sprintf("%s host %s", p.Op, p.Name)
		}
		if p.Done {
			e.Kind, e.Took = event.StepEnd, p.Took
			if p.Failed {
				e.Err = fmt.Errorf("%s failed", e.Text)
			}
		}
		to.Emit(e)
	}
}

func emit(to event.Sink, kind event.Kind, host, text string) {
	to.Emit(event.Event{Time: time.Now(), Kind: kind, Phase: "hosts", Host: host, Text: text})
}
