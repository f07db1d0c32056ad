package preflight

import (
	"errors"
	"strings"

	"clusterctl/provision/host"
	"clusterctl/provision/inventory"
)

const (
	nameReachable = "reachable"
	namePrivilege = "privilege"
)

// reachable: the host was asked and answered. Refused privilege is another check's finding. A
// worker of a cluster that exists is left out of the run; the first run wants all hosts, since a
// wrong address is likelier than a host that is down.
func reachable(in Input) []Finding {
	var out []Finding
	for _, h := range in.Inventory.Hosts {
		err := in.Errors[h.Name]
		if _, answered := in.Reports[h.Name]; err == nil && answered || errors.Is(err, host.ErrPrivilege) {
			continue
		}
		if err == nil {
			err = errors.New("the host was not asked")
		}
		f := refusal(h.Name, err, "check that the host is up and that ssh to it works")
		if in.ClusterUID != "" {
			f.Remedy += "; a member of the cluster that is gone for good is made anew with: clusterctl replace " + in.Spec.Path + " " + h.Name
			if h.Role == inventory.Worker {
				f.Severity, f.Message = SeverityWarning, f.Message+"; the host is left out of this run"
			}
		}
		out = append(out, f)
	}
	return out
}

// privilege: commands run as root, directly or through sudo.
func privilege(in Input) []Finding {
	var out []Finding
	for _, h := range in.Inventory.Hosts {
		const remedy = "log in as root, or let sudo run all commands for the login user"
		if err := in.Errors[h.Name]; errors.Is(err, host.ErrPrivilege) {
			out = append(out, refusal(h.Name, err, remedy))
		}
		if r, ok := in.Reports[h.Name]; ok && r.UID != "0" {
			for _, f := range failure(remedy, "commands run with uid %s, not as root", orNone(r.UID)) {
				f.Host = h.Name
				out = append(out, f)
			}
		}
	}
	return out
}

// refusal is what the transport said, with its own remedy where it has one.
func refusal(name string, err error, remedy string) Finding {
	message := err.Error()
	if lost, ok := errors.AsType[*host.UnreachableError](err); ok {
		message = lost.Addr + ": " + lost.Err.Error()
		if lost.Remedy != "" {
			remedy = lost.Remedy
		}
	}
	return Finding{Host: name, Severity: SeverityError, Message: strings.TrimPrefix(message, name+": "), Remedy: remedy}
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
