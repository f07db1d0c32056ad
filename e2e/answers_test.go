//go:build e2e

package e2e

import "slices"

// The answers of "-o json", as a program that reads them would write them down.

// planAnswer is what plan prints.
type planAnswer struct {
	Cluster  string
	Provider []struct{ Verb, Kind, Name string }
	Phases   []struct {
		Name  string
		Hosts []struct {
			Host  string
			Steps []stepAnswer
		}
	}
	Notes   []string
	Summary struct{ Total, Hosts int }
}

// stepAnswer is one step on one host.
type stepAnswer struct{ Verb, Kind, Title, Why string }

// steps gives the steps of all phases by host.
func (p planAnswer) steps() map[string][]stepAnswer {
	out := map[string][]stepAnswer{}
	for _, phase := range p.Phases {
		for _, h := range phase.Hosts {
			out[h.Host] = append(out[h.Host], h.Steps...)
		}
	}
	return out
}

// statusAnswer is what status prints.
type statusAnswer struct {
	Cluster, KubernetesVersion, UnfinishedRun string

	Hosts []struct{ Name, Role, Address, Reachable, Node, OnDisk, Running, CertName string }
	Etcd  []struct {
		Name            string
		Leader, Healthy bool
		RaftIndex       uint64
		DBSize          int64
		Version         string
		Alarms          []string
	}
	API      []struct{ Host, Readyz string }
	Problems []string
}

// leaders gives the names of the etcd members that lead.
func (s statusAnswer) leaders() []string {
	var out []string
	for _, m := range s.Etcd {
		if m.Leader {
			out = append(out, m.Name)
		}
	}
	return out
}

// healthy tells whether everything is as it should be.
func (s statusAnswer) healthy() bool {
	for _, h := range s.Hosts {
		if h.Reachable != "yes" || h.Node != "Ready" || h.OnDisk != kubernetesVersion || h.Running != kubernetesVersion {
			return false
		}
	}
	for _, m := range s.Etcd {
		if !m.Healthy || len(m.Alarms) > 0 {
			return false
		}
	}
	return len(s.Problems) == 0 && len(s.leaders()) == 1 && !slices.ContainsFunc(s.API, func(a struct{ Host, Readyz string }) bool { return a.Readyz != "ok" })
}
