package preflight

import (
	"fmt"
	"slices"
	"strings"
)

// hostname: names are what people and logs tell hosts apart by. Nodes take theirs from the
// inventory, so a host that has another name only gets a warning, and only before it is ours.
func hostname(in Input) []Finding {
	name := func(m machine) string { return strings.ToLower(m.report.Hostname) }
	out := shared(in, name, "host name", "give each host a name of its own: hostnamectl set-hostname NAME")
	for m := range in.machines() {
		short, _, _ := strings.Cut(name(m), ".")
		if m.ours() || slices.Contains([]string{name(m), short}, m.host.Name) {
			continue
		}
		out = append(out, Finding{Host: m.host.Name, Severity: SeverityWarning,
			Message: fmt.Sprintf("the host calls itself %q; its node will be %s", m.report.Hostname, m.host.Name),
			Remedy:  "nothing to do, or: hostnamectl set-hostname " + m.host.Name})
	}
	return out
}

// machineID: nodes with one machine id look like one machine to storage and monitoring; clones
// of one image have it.
func machineID(in Input) []Finding {
	const remedy = "make a new one: rm /etc/machine-id; systemd-machine-id-setup; then reboot"
	var out []Finding
	for m := range in.machines() {
		if id := m.report.MachineID; id == "" || id == "uninitialized" {
			out = append(out, Finding{Host: m.host.Name, Severity: SeverityError, Message: "the host has no machine id (/etc/machine-id)", Remedy: remedy})
		}
	}
	id := func(m machine) string { return strings.TrimPrefix(m.report.MachineID, "uninitialized") }
	return append(out, shared(in, id, "machine id", remedy)...)
}

// shared finds values that several hosts have; the empty value is none.
func shared(in Input, value func(machine) string, what, remedy string) []Finding {
	owners := map[string][]string{}
	for m := range in.machines() {
		owners[value(m)] = append(owners[value(m)], m.host.Name)
	}
	var out []Finding
	for m := range in.machines() {
		if v := value(m); v != "" && len(owners[v]) > 1 {
			out = append(out, Finding{Host: m.host.Name, Severity: SeverityError, Remedy: remedy,
				Message: fmt.Sprintf("the %s %s is not unique: %s have it", what, v, strings.Join(owners[v], ", "))})
		}
	}
	return out
}
