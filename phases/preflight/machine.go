package preflight

import (
	"fmt"
	"iter"

	"clusterctl/phases/observe"
	"clusterctl/provision/inventory"
	"clusterctl/provision/spec"
)

// machine is one host that answered, with the input that it is part of.
type machine struct {
	in     Input
	host   inventory.Host
	report observe.Report
}

// machines gives the hosts that answered, in the inventory's order.
func (in Input) machines() iter.Seq[machine] {
	return func(yield func(machine) bool) {
		for _, h := range in.Inventory.Hosts {
			if r, ok := in.Reports[h.Name]; ok && !yield(machine{in, h, r}) {
				return
			}
		}
	}
}

func (m machine) spec() spec.Spec    { return m.in.Spec.Spec }
func (m machine) controlPlane() bool { return m.host.Role == inventory.ControlPlane }
func (m machine) container() bool    { return m.report.Container != "" }

// ours tells whether the host carries this cluster's identity.
func (m machine) ours() bool {
	return m.in.ClusterUID != "" && m.report.Identity.UID == m.in.ClusterUID
}

// perHost makes a check of all hosts from one of a single host that answered.
func perHost(look func(machine) []Finding) func(Input) []Finding {
	return func(in Input) []Finding {
		var out []Finding
		for m := range in.machines() {
			for _, f := range look(m) {
				f.Host = m.host.Name
				out = append(out, f)
			}
		}
		return out
	}
}

// failure is one finding that stops the run; the remedy may not need arguments.
func failure(remedy, format string, args ...any) []Finding {
	return []Finding{{Severity: SeverityError, Message: fmt.Sprintf(format, args...), Remedy: remedy}}
}

// warning is one finding that is shown only.
func warning(remedy, format string, args ...any) []Finding {
	return []Finding{{Severity: SeverityWarning, Message: fmt.Sprintf(format, args...), Remedy: remedy}}
}
