// Package status is what a cluster is right now, as its hosts and its API say it.
package status

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"clusterctl/components"
	"clusterctl/phases"
	"clusterctl/phases/etcdapi"
	"clusterctl/phases/kube"
	"clusterctl/pki"
	"clusterctl/provision/host"
	"clusterctl/provision/inventory"
)

//go:embed versions.sh
var script string

// Status is what was seen.
type Status struct {
	At            time.Time
	Cluster       string
	Kubernetes    string // version in the spec
	Former        string // version that the control plane emulates, and that the cluster may go back to; empty: none
	UnfinishedRun string
	Hosts         []Host
	Etcd          []Member
	API           []Server
	Problems      []string

	unreachable error
}

// Host is one host and its node.
type Host struct {
	Name, Role, Address string
	Reachable           string // yes, or why not
	Node                string // Ready, NotReady, or - without a node object
	OnDisk, Running     string // Kubernetes versions
	Components          []Component
	CertName            string // certificate that ends first
	CertEnd             time.Time

	answer string // the script's
}

// Member is one etcd member.
type Member struct {
	Name      string
	Leader    bool
	RaftIndex uint64
	DBSize    int64 // bytes
	Quota     int64 // bytes
	Healthy   bool
	Version   string
	Alarms    []string
}

// Server is one API server.
type Server struct{ Host, Readyz string }

// Problem says that a status shows something that is not as it should be.
type Problem struct{ Count int }

func (p *Problem) Error() string { return fmt.Sprintf("%d problems", p.Count) }

// Verdict is nil when all is well, the transport's error when a host could not be reached, and a
// *Problem otherwise.
func (s Status) Verdict() error {
	if s.unreachable != nil {
		return s.unreachable
	}
	if len(s.Problems) > 0 {
		return &Problem{len(s.Problems)}
	}
	return nil
}

// nearEnd is when a certificate becomes a problem.
const nearEnd = 21 * 24 * time.Hour

// timeout is how long a part of the cluster may take to answer.
const timeout = 5 * time.Second

// Read asks all hosts and the API at the same time. stored is the secrets as the hosts have them:
// those of e may hold certificates that were renewed in memory only.
func Read(ctx context.Context, e *phases.Env, stored *pki.Secrets, parallel int) (Status, error) {
	c := e.Cluster
	s := Status{At: time.Now(), Cluster: c.Spec.Metadata.Name, Kubernetes: c.Spec.Spec.Kubernetes.Version}
	s.Hosts = make([]Host, len(c.Inventory.Hosts))
	planes := c.Inventory.ControlPlanes()
	s.Etcd, s.API = make([]Member, len(planes)), make([]Server, len(planes))
	var mu sync.Mutex
	note := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		s.Problems = append(s.Problems, fmt.Sprintf(format, args...))
	}
	index := make([]int, len(c.Inventory.Hosts))
	for i := range index {
		index[i] = i
	}
	err := host.ForEach(ctx, parallel, index, func(ctx context.Context, i int) error {
		h := c.Inventory.Hosts[i]
		var err error
		if s.Hosts[i], err = readHost(ctx, e, stored, h, note); err != nil {
			note("%s cannot be reached: %v", h.Name, err)
			mu.Lock()
			s.unreachable = err
			mu.Unlock()
		}
		plane := slices.IndexFunc(planes, func(p inventory.Host) bool { return p.Name == h.Name })
		if plane >= 0 {
			s.Etcd[plane] = readMember(ctx, e, h.Name, err, note)
			s.API[plane] = readServer(ctx, e, h.Name, err, note)
		}
		return nil
	})
	if err != nil {
		return s, err
	}
	s.readComponents(c, note)
	e.Skip = s.away()
	s.readNodes(ctx, e, note)
	s.judge(note)
	slices.Sort(s.Problems)
	return s, nil
}

// away are the hosts that did not answer.
func (s Status) away() map[string]bool {
	out := map[string]bool{}
	for _, h := range s.Hosts {
		if h.Reachable != "yes" {
			out[h.Name] = true
		}
	}
	return out
}

func readHost(ctx context.Context, e *phases.Env, stored *pki.Secrets, h inventory.Host, note func(string, ...any)) (Host, error) {
	out := Host{Name: h.Name, Role: string(h.Role), Address: h.Address.String(), Reachable: "yes", Node: "-", OnDisk: "-", Running: "-"}
	out.CertName, out.CertEnd = stored.NearestEnd(h.Name)
	handle, err := e.Hosts.Get(h.Name)
	if err != nil {
		out.Reachable = "no"
		return out, err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*timeout)
	defer cancel()
	res, err := handle.Run(ctx, host.Cmd{Args: append([]string{"sh", "-c", script, "versions"}, phases.Units(e.Cluster, h)...), Root: true, Stdin: bytes.NewReader(nil)})
	if errors.Is(err, context.DeadlineExceeded) {
		err = &host.UnreachableError{Host: h.Name, Addr: h.SSH.Address, Err: fmt.Errorf("no answer within %s", 2*timeout)}
	}
	if err != nil {
		out.Reachable = "no"
		return out, err
	}
	out.answer = string(res.Stdout)
	out.OnDisk, out.Running = versions(out.answer)
	for _, problem := range problems(h, out.answer) {
		note("%s", problem)
	}
	return out, nil
}

// versions reads the script's answer: Kubernetes' versions on disk and in the running programs.
func versions(text string) (onDisk, running string) {
	var disk, run []string
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		switch {
		case len(f) == 2 && f[0] == "disk":
			if p := strings.Split(strings.Trim(f[1], "/"), "/"); len(p) == 4 && p[2] == "kubernetes" {
				disk = append(disk, p[3])
			}
		case len(f) == 3 && f[0] == "running":
			if p := strings.Split(strings.Trim(f[2], "/"), "/"); len(p) == 5 && p[2] == "kubernetes" {
				run = append(run, p[3])
			}
		}
	}
	return list(disk), list(run)
}

func list(versions []string) string {
	slices.Sort(versions)
	if versions = slices.Compact(versions); len(versions) == 0 {
		return "-"
	}
	return strings.Join(versions, ", ")
}

func readMember(ctx context.Context, e *phases.Env, name string, unreachable error, note func(string, ...any)) Member {
	out := Member{Name: name, Quota: e.Cluster.Spec.EtcdQuota(), Version: "-"}
	if unreachable != nil {
		return out
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	st, err := e.EtcdMember(ctx, name)
	if err != nil {
		note("etcd member %s: %v", name, err)
		return out
	}
	out = fill(out, st)
	for _, a := range out.Alarms {
		note("etcd member %s: %s", name, a)
	}
	if out.DBSize > out.Quota*8/10 {
		note("etcd member %s: database uses over 80 %% of its quota", name)
	}
	return out
}

func fill(m Member, st etcdapi.Status) Member {
	m.Leader, m.RaftIndex, m.DBSize, m.Version, m.Alarms = st.Leader, st.RaftIndex, st.DBSize, st.Version, st.Errors
	m.Healthy = len(st.Errors) == 0
	return m
}

func readServer(ctx context.Context, e *phases.Env, name string, unreachable error, note func(string, ...any)) Server {
	if unreachable != nil {
		return Server{Host: name, Readyz: "host cannot be reached"}
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	handle, err := e.Hosts.Get(name)
	if err == nil {
		err = kube.ReadyAt(ctx, handle.Dial, e.Cluster.Secrets.CA(pki.ClusterCA).CertPEM, components.APIServerPort, "/readyz")
	}
	if err != nil {
		note("API server on %s is not ready: %v", name, err)
		return Server{Host: name, Readyz: err.Error()}
	}
	return Server{Host: name, Readyz: "ok"}
}

func (s *Status) readNodes(ctx context.Context, e *phases.Env, note func(string, ...any)) {
	ctx, cancel := context.WithTimeout(ctx, 2*timeout)
	defer cancel()
	api, err := e.API(ctx)
	if err != nil {
		note("%v", err)
		return
	}
	nodes, err := api.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		note("list nodes: %v", err)
		return
	}
	for _, n := range nodes.Items {
		i := slices.IndexFunc(s.Hosts, func(h Host) bool { return h.Name == n.Name })
		if i < 0 {
			note("node %s is not in the spec", n.Name)
			continue
		}
		s.Hosts[i].Node = readiness(n)
	}
}

func readiness(n corev1.Node) string {
	text := "NotReady"
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
			text = "Ready"
		}
	}
	if n.Spec.Unschedulable {
		text += ", cordoned"
	}
	return text
}

// judge names what is not as the spec says.
func (s *Status) judge(note func(string, ...any)) {
	leaders := 0
	for _, m := range s.Etcd {
		if m.Leader {
			leaders++
		}
	}
	if leaders != 1 {
		note("etcd has %d leaders", leaders)
	}
	for _, h := range s.Hosts {
		if h.Reachable == "yes" && !strings.HasPrefix(h.Node, "Ready") {
			note("node %s is %s", h.Name, strings.Replace(h.Node, "-", "not registered", 1))
		}
		for _, c := range h.Components {
			if c.Running != c.Wanted {
				note("%s runs %s %s, the spec's release has %s", h.Name, c.Name, c.Running, c.Wanted)
			}
		}
		if !h.CertEnd.IsZero() && h.CertEnd.Sub(s.At) < nearEnd {
			note("%s: certificate %s ends %s", h.Name, h.CertName, h.CertEnd.Format(time.DateOnly))
		}
	}
}
