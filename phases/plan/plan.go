// Package plan compares what must be there with what was seen. It is pure: the same input gives
// the same steps, and After is the model of what a step leaves behind.
package plan

import (
	"cmp"
	"fmt"
	"maps"

	"clusterctl/components/resource"
)

// Verb is what a step does.
type Verb string

const (
	Create  Verb = "create"
	Update  Verb = "update"
	Start   Verb = "start"   // a unit that does not run, or that the next boot would not start
	Restart Verb = "restart" // a unit whose inputs differ from those of its last good start

	Drain    Verb = "drain"    // a node, before something on it is restarted that its pods would feel
	Uncordon Verb = "uncordon" // a node that we drained
	Delete   Verb = "delete"   // something that must not be there any more
)

// Step is one change.
type Step struct {
	Key  resource.Key
	Verb Verb
	Why  string
	Want resource.Resource
	Have resource.Fact
}

// Enabled is the Detail of a unit that starts at boot.
const Enabled = "enabled"

// Diff gives the steps that lead from have to want, in want's order. A restart is due when the
// inputs' digest differs from the one stamped at the unit's last good start, never because this
// run wrote a file: a crash between the two loses nothing.
func Diff(want []resource.Resource, have resource.Facts) []Step {
	var out []Step
	for _, r := range want {
		fact := have[r.Key()]
		verb, why := Create, "absent"
		_, ends := r.(resource.Ending)
		switch {
		case ends && fact.Digest != r.Digest():
			verb, why = Delete, cmp.Or(fact.Detail, "not in the spec")
		case r.Key().Kind == resource.KindUnit:
			verb, why = unitVerb(r, fact)
		case r.Key().Kind == resource.KindSchedule:
			verb, why = schedulingVerb(r, fact)
		case fact.Exists && (fact.Digest == r.Digest() || fact.Digest == resource.SeedOver):
			verb = ""
		case fact.Exists:
			verb, why = Update, difference(r, fact)
		}
		if verb != "" {
			out = append(out, Step{Key: r.Key(), Verb: verb, Why: why, Want: r, Have: fact})
		}
	}
	return out
}

func unitVerb(r resource.Resource, fact resource.Fact) (Verb, string) {
	switch {
	case !fact.Exists || fact.Digest == "" && !fact.Active:
		return Start, "not started yet"
	case !fact.Active:
		return Start, "not running"
	case fact.Digest == resource.Touched:
		return Restart, "it was started by somebody else, and its files were changed after that"
	case fact.Digest != r.Digest():
		return Restart, "inputs changed since its last good start"
	case fact.Detail == resource.NotReloaded:
		return Start, fact.Detail
	case fact.Detail != Enabled:
		return Start, "not enabled at boot"
	}
	return "", ""
}

// schedulingVerb: a node that is not there yet has no pods, and nobody keeps them away.
func schedulingVerb(r resource.Resource, fact resource.Fact) (Verb, string) {
	want, ok := r.(resource.Scheduling)
	switch {
	case !ok || !fact.Exists || fact.Digest == r.Digest():
		return "", ""
	case want.Drained:
		return Drain, "its pods must go"
	}
	return Uncordon, fact.Detail
}

func difference(r resource.Resource, fact resource.Fact) string {
	switch r.Key().Kind {
	case resource.KindSysctl, resource.KindLink:
		return fmt.Sprintf("is %q", fact.Digest)
	}
	if fact.Detail != "" {
		return fact.Detail
	}
	return "content, mode or owner differs"
}

// After is the model of what a successful step leaves behind.
func After(have resource.Facts, s Step) resource.Facts {
	next := maps.Clone(have)
	if next == nil {
		next = resource.Facts{}
	}
	Model(next, s)
	return next
}

// Model changes have into what a successful step leaves behind.
func Model(have resource.Facts, s Step) {
	have[s.Key] = Modelled(s)
	if e, ok := s.Want.(resource.Ending); ok {
		for _, k := range e.Ends() {
			delete(have, k)
		}
	}
}

// Modelled is the fact of a step's resource after the step.
func Modelled(s Step) resource.Fact {
	fact := resource.Fact{Exists: true, Digest: s.Want.Digest()}
	if s.Key.Kind == resource.KindUnit {
		fact.Active, fact.Detail = true, Enabled
	}
	return fact
}
