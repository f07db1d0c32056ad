package upgrade

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/version"

	"clusterctl/phases/drain"
	"clusterctl/phases/preflight"
)

// Seen is what the cluster itself said before an upgrade.
type Seen struct {
	Members []Member
	Quota   int64 // bytes of an etcd database
	APIs    []API
	Budgets []drain.Budget
	Custom  []CustomAPI
	Ending  []Certificate
	Silent  error // why the API did not answer
}

// Member is an etcd member.
type Member struct {
	Host   string
	Size   int64 // bytes of its database
	Alarms []string
	Err    error // why it is not well
}

// API is a deprecated API that somebody asked for since an API server started.
type API struct {
	Group, Version, Resource string
	Removed                  string // minor version that no longer has it, as 1.40; empty: no end in sight
}

// Check judges what stands in the way of an upgrade to a version of Kubernetes.
func Check(to string, s Seen) []preflight.Finding {
	out := s.members()
	for _, c := range s.Ending {
		out = append(out, c.finding())
	}
	out = append(out, s.deprecated(to)...)
	for _, a := range s.Custom {
		if f, ok := a.finding(); ok {
			out = append(out, f)
		}
	}
	for _, b := range s.Budgets {
		f := preflight.Finding{Check: "budgets", Severity: preflight.SeverityWarning,
			Message: fmt.Sprintf("disruption budget %s/%s lets no pod go now: it %s", b.Namespace, b.Name, b.Why),
			Remedy:  "wait until its pods are healthy"}
		if b.Never {
			f.Message = fmt.Sprintf("disruption budget %s/%s never lets a pod go: it %s", b.Namespace, b.Name, b.Why)
			f.Remedy = "give it room, or say what is done about it: spec.upgradePolicy.stuckBudget"
		}
		out = append(out, f)
	}
	if s.Silent != nil {
		out = append(out, preflight.Finding{Check: "api", Severity: preflight.SeverityWarning,
			Message: fmt.Sprintf("the API does not answer, so deprecated APIs, stored versions and disruption budgets were not looked at: %v", s.Silent)})
	}
	return out
}

// members: an upgrade restarts each member, so the others must be well; and it writes.
func (s Seen) members() []preflight.Finding {
	var out []preflight.Finding
	well := 0
	for _, m := range s.Members {
		switch {
		case m.Err != nil:
			out = append(out, preflight.Finding{Host: m.Host, Check: "etcd-members", Severity: preflight.SeverityWarning, Message: fmt.Sprintf("etcd member is not well: %v", m.Err)})
			continue
		case len(m.Alarms) > 0:
			out = append(out, preflight.Finding{Host: m.Host, Check: "etcd-space", Severity: preflight.SeverityError,
				Message: fmt.Sprintf("etcd has an alarm: %v; it takes no writes", m.Alarms), Remedy: "free space, defragment and clear the alarm before an upgrade"})
		case m.Size > s.Quota*8/10:
			out = append(out, preflight.Finding{Host: m.Host, Check: "etcd-space", Severity: preflight.SeverityWarning,
				Message: fmt.Sprintf("etcd's database has %d of %d MiB", m.Size>>20, s.Quota>>20), Remedy: "raise spec.etcd.quota or defragment"})
		}
		well++
	}
	if len(s.Members) > 0 && well <= len(s.Members)/2 {
		out = append(out, preflight.Finding{Check: "etcd-members", Severity: preflight.SeverityError,
			Message: fmt.Sprintf("%d of %d etcd members are well: no quorum, so no backup can be taken", well, len(s.Members)),
			Remedy:  "bring them back with the version that they ran"})
	}
	return out
}

func (s Seen) deprecated(to string) []preflight.Finding {
	var out []preflight.Finding
	for _, a := range s.APIs {
		if a.Removed == "" {
			continue // Kubernetes itself asks for such, and there is no end in sight
		}
		name := a.Resource + "." + a.Version
		if a.Group != "" {
			name += "." + a.Group
		}
		f := preflight.Finding{Check: "deprecated-apis", Severity: preflight.SeverityWarning,
			Message: fmt.Sprintf("somebody asks for %s, which ends with %s", name, a.Removed), Remedy: "move its callers to a newer version of the API"}
		if gone(a.Removed, to) {
			f.Severity = preflight.SeverityError
			f.Message = fmt.Sprintf("somebody asks for %s, which %s does not have any more", name, to)
			f.Remedy += "; when that is done and the API servers still remember: spec.host.ignorePreflight: [deprecated-apis]"
		}
		out = append(out, f)
	}
	return out
}

func gone(removed, to string) bool {
	in, err := version.ParseGeneric(removed)
	target, other := version.ParseSemantic(to)
	return err == nil && other == nil && minor(in) <= minor(target)
}
