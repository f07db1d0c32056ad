package view

import (
	"fmt"
	"strings"
	"time"
)

// soon is how long before its end a certificate is named in the table.
const soon = 30 * 24 * time.Hour

// Status is what was seen of a cluster.
type Status struct {
	At                time.Time    `json:"time"` // when it was seen
	Cluster           string       `json:"cluster"`
	KubernetesVersion string       `json:"kubernetesVersion"`       // of the spec
	Former            string       `json:"former,omitempty"`        // version that the control plane emulates and that the cluster may go back to
	UnfinishedRun     string       `json:"unfinishedRun,omitempty"` // the run that did not end, for people
	Hosts             []HostStatus `json:"hosts"`
	Etcd              []EtcdMember `json:"etcd"`
	API               []APIServer  `json:"api"`
	Problems          []string     `json:"problems"` // what a person should look at; empty when all is well
}

// HostStatus is one host.
type HostStatus struct {
	Name      string    `json:"name"`
	Role      string    `json:"role"`
	Address   string    `json:"address"`
	Reachable string    `json:"reachable"` // yes, or the reason why not
	Node      string    `json:"node"`      // Ready, NotReady, or - without a node object
	OnDisk    string    `json:"onDisk"`    // Kubernetes version installed
	Running   string    `json:"running"`   // Kubernetes version that runs
	CertName  string    `json:"certName"`  // the certificate that ends first
	CertEnd   time.Time `json:"certEnd,omitzero"`

	Components []ComponentVersion `json:"components"`
}

// ComponentVersion is a program of ours on a host.
type ComponentVersion struct {
	Name    string `json:"name"`
	OnDisk  string `json:"onDisk"`  // versions installed, oldest first
	Running string `json:"running"` // as v1.37.2, or v1.37.2 as v1.36 where it emulates
	Wanted  string `json:"wanted"`  // the same, by the release of the spec's version
}

// EtcdMember is one etcd member.
type EtcdMember struct {
	Name      string   `json:"name"`
	Leader    bool     `json:"leader"`
	RaftIndex uint64   `json:"raftIndex"`
	DBSize    int64    `json:"dbSize"` // bytes
	Quota     int64    `json:"quota"`  // bytes
	Healthy   bool     `json:"healthy"`
	Version   string   `json:"version"`
	Alarms    []string `json:"alarms"`
}

// APIServer is one API server.
type APIServer struct {
	Host   string `json:"host"`
	Readyz string `json:"readyz"` // ok, or what /readyz or the connection said
}

// Status writes s: tables, or the fields of [Status].
func (o Output) Status(s Status) error {
	answer := struct {
		Schema string `json:"schema"`
		Status
	}{schema, s.complete()}
	return o.write(answer, func() string { return o.statusText(s) })
}

// complete replaces lists that are nil, for JSON, and makes times UTC.
func (s Status) complete() Status {
	s.At = s.At.UTC()
	s.Hosts, s.Etcd, s.API, s.Problems = orEmptyCopy(s.Hosts), orEmptyCopy(s.Etcd), orEmpty(s.API), orEmpty(s.Problems)
	for i := range s.Hosts {
		s.Hosts[i].CertEnd = s.Hosts[i].CertEnd.UTC()
		s.Hosts[i].Components = orEmpty(s.Hosts[i].Components)
	}
	for i := range s.Etcd {
		s.Etcd[i].Alarms = orEmpty(s.Etcd[i].Alarms)
	}
	return s
}

func orEmptyCopy[T any](list []T) []T { return append([]T{}, list...) }

func (o Output) statusText(s Status) string {
	paint := palette(o.Color)
	var b strings.Builder
	fmt.Fprintf(&b, "%s Kubernetes %s\n", paint.bold("Cluster "+oneLine(s.Cluster)+":"), oneLine(s.KubernetesVersion))
	if s.Former != "" {
		b.WriteString(soaks(s.Former))
	}
	if s.UnfinishedRun != "" {
		fmt.Fprintf(&b, "%s %s\n", paint.yellow("unfinished run:"), oneLine(s.UnfinishedRun))
	}
	for _, part := range []string{o.hostTable(s), o.otherVersions(s.Hosts), o.etcdTable(s.Etcd), o.apiTable(s.API)} {
		if part != "" {
			b.WriteString("\n" + part)
		}
	}
	if len(s.Problems) == 0 {
		b.WriteString("\n" + paint.green("No problems.") + "\n")
		return b.String()
	}
	b.WriteString("\n" + paint.bold("PROBLEMS") + "\n")
	for _, problem := range s.Problems {
		b.WriteString(paint.red("!") + " " + oneLine(problem) + "\n")
	}
	return b.String()
}

func (o Output) hostTable(s Status) string {
	if len(s.Hosts) == 0 {
		return ""
	}
	var rows [][]string
	for _, h := range s.Hosts {
		rows = append(rows, []string{
			h.Name, h.Role, h.Address, dash(h.Reachable), dash(h.Node), versionCell(h.OnDisk, h.Running), certCell(h, s.At),
		})
	}
	return o.table([]string{"HOST", "ROLE", "ADDRESS", "REACHED", "NODE", "VERSION", "CERT ENDS"}, rows)
}

// otherVersions lists programs that are not of the wanted version: an upgrade is half done.
func (o Output) otherVersions(hosts []HostStatus) string {
	var rows [][]string
	for _, h := range hosts {
		for _, c := range h.Components {
			if c.Running != c.Wanted {
				rows = append(rows, []string{h.Name, c.Name, c.OnDisk, c.Running, c.Wanted})
			}
		}
	}
	if len(rows) == 0 {
		return ""
	}
	return o.table([]string{"NOT AS WANTED", "COMPONENT", "ON DISK", "RUNS", "WANTED"}, rows)
}

// certCell is when the first certificate ends, with its name when that is soon.
func certCell(h HostStatus, now time.Time) string {
	end := humanDate(h.CertEnd, now)
	if h.CertName == "" || h.CertEnd.IsZero() || h.CertEnd.Sub(now) > soon {
		return end
	}
	return end + " (" + h.CertName + ")"
}

// versionCell is one version, or both when another runs than is installed.
func versionCell(onDisk, running string) string {
	if onDisk == running || running == "" {
		return dash(onDisk)
	}
	return fmt.Sprintf("%s (runs %s)", dash(onDisk), running)
}

func (o Output) etcdTable(members []EtcdMember) string {
	if len(members) == 0 {
		return ""
	}
	var rows [][]string
	for _, m := range members {
		role, health := "follower", "healthy"
		if m.Leader {
			role = "leader"
		}
		if !m.Healthy {
			health = "unhealthy"
		}
		rows = append(rows, []string{
			m.Name, health, role, dash(m.Version), fmt.Sprint(m.RaftIndex), databaseCell(m.DBSize, m.Quota), dash(strings.Join(m.Alarms, ", ")),
		})
	}
	return o.table([]string{"ETCD", "HEALTH", "ROLE", "VERSION", "RAFT INDEX", "DATABASE", "ALARMS"}, rows)
}

// databaseCell is the size and its share of the quota: 1.5 GiB (18% of 8 GiB).
func databaseCell(used, quota int64) string {
	if quota <= 0 {
		return humanSize(used)
	}
	return fmt.Sprintf("%s (%d%% of %s)", humanSize(used), int64(float64(used)/float64(quota)*100), humanSize(quota))
}

func (o Output) apiTable(servers []APIServer) string {
	if len(servers) == 0 {
		return ""
	}
	var rows [][]string
	for _, a := range servers {
		rows = append(rows, []string{a.Host, dash(a.Readyz)})
	}
	return o.table([]string{"API SERVER", "READYZ"}, rows)
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
