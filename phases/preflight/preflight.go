// Package preflight tells before anything is changed whether the hosts can carry the cluster that
// the spec asks for. It is pure: it judges what hosts reported. Every check looks at every host,
// and all findings come at once.
package preflight

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"clusterctl/phases/observe"
	"clusterctl/provision/inventory"
	"clusterctl/provision/spec"
)

// Severity says whether a finding stops the run.
type Severity string

// An error stops the run before anything is changed; a warning is shown.
const (
	SeverityError   Severity = "error"
	SeverityWarning Severity = "warning"
)

// Finding is one thing that a check found.
type Finding struct {
	Host     string // empty: the cluster as a whole
	Check    string // the check's name
	Severity Severity
	Message  string // what is wrong, one line, without the host's name
	Remedy   string // what to do next
}

// Input is all that checks may look at.
type Input struct {
	Spec          *spec.Cluster
	Inventory     inventory.Inventory
	Reports       map[string]observe.Report // by host
	Errors        map[string]error          // hosts that could not be asked; other names are ignored
	ClusterUID    string                    // of this cluster's state; empty when there is no state
	EtcdClusterID string                    // hex, of this cluster's state; empty when there is none
	Need          int64                     // bytes that will be installed on each host
	Arch          string                    // of the bundle, as Go names it; empty: not known, not compared
}

// Check looks for one kind of problem on all hosts. The findings of Run need no check name.
type Check struct {
	Name, Doc string
	Run       func(Input) []Finding
}

// ignoreField is where the spec names the checks whose findings are warnings.
const ignoreField = "spec.host.ignorePreflight"

// Run runs every check on every host. Findings are in the order of the inventory's hosts, after
// those of the cluster as a whole, and for one host in the order of Checks. Findings of the checks
// that spec.host.ignorePreflight names are warnings; a name that no check has is a finding.
func Run(in Input) []Finding {
	checks := Checks()
	ignored := in.Spec.Spec.Host.IgnorePreflight
	out := unknownNames(ignored, checks)
	for _, c := range checks {
		for _, f := range c.Run(in) {
			f.Check = c.Name
			out = append(out, f)
		}
	}
	out = Ignore(out, ignored)
	place := map[string]int{}
	for i, h := range in.Inventory.Hosts {
		place[h.Name] = i + 1
	}
	slices.SortStableFunc(out, func(a, b Finding) int { return cmp.Compare(place[a.Host], place[b.Host]) })
	return out
}

// unknownNames: a misspelled name would leave the check in force without a word.
func unknownNames(ignored []string, checks []Check) []Finding {
	known := slices.Clone(elsewhere)
	for _, c := range checks {
		known = append(known, c.Name)
	}
	var out []Finding
	for _, name := range ignored {
		if !slices.Contains(known, name) {
			out = append(out, Finding{
				Check: "ignorePreflight", Severity: SeverityError, Message: fmt.Sprintf("%s names %q, and there is no such check", ignoreField, name),
				Remedy: "use one of: " + strings.Join(known, ", "),
			})
		}
	}
	return out
}
