package phases_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"clusterctl/components"
	"clusterctl/components/resource"
	"clusterctl/phases"
	"clusterctl/phases/health"
	"clusterctl/phases/observe"
	"clusterctl/pki"
	"clusterctl/provision/event"
	"clusterctl/provision/host"
	"clusterctl/provision/host/hosttest"
	"clusterctl/provision/inventory"
)

// stage is a cluster of fake hosts that do every operation, and a log of what was done where.
type stage struct {
	env   *phases.Env
	fakes map[string]*hosttest.Fake

	mu     sync.Mutex
	log    []string // "done cp-1 create /f", "gate cp-1"
	events []event.Event
}

func newStage(t *testing.T) *stage {
	t.Helper()
	c := clusterOf(t, sshSpec("v1.37.2", 3, 2, ""), newSecrets(t))
	s := &stage{fakes: map[string]*hosttest.Fake{}}
	for _, h := range c.Inventory.Hosts {
		f := hosttest.NewFake(h.Name)
		f.Handle(operate, "sh")
		s.fakes[h.Name] = f
	}
	pool := host.NewPool(c.Inventory, func(h inventory.Host) host.Host { return s.fakes[h.Name] })
	env, err := phases.NewEnv(c, pool, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.env = env
	return s
}

// operate plays the script that does operations.
func operate(_ context.Context, c host.Cmd) (host.Result, error) {
	in, err := io.ReadAll(c.Stdin)
	n := 0
	for range strings.Lines(string(in)) {
		n++
		if c.Stdout != nil {
			fmt.Fprintf(c.Stdout, "ok\t%d\n", n)
		}
	}
	return host.Result{}, err
}

func (s *stage) add(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, line)
}

func (s *stage) Emit(e event.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, e)
}

func (s *stage) run(ctx context.Context, planned []phases.Planned) error {
	return phases.Apply(ctx, s.env, planned, 8, s, func(_, host, step, result string) { s.add(result + " " + host + " " + step) })
}

// phase is a phase that puts a file on every host and restarts a unit that reads it.
func phase(name string, gates func(*phases.Env, inventory.Host) []health.Condition, hosts ...string) phases.Phase {
	return phases.Phase{Name: name, Waves: func(*phases.Cluster, map[string]bool) ([]phases.Wave, error) {
		w := phases.Wave{Gates: gates}
		for _, h := range hosts {
			f := resource.File{Host: h, Path: "/" + name, Mode: 0o644, Content: []byte(name)}
			w.Resources = append(w.Resources, f, resource.Unit{Host: h, Name: name + ".service", Inputs: []string{f.Digest()}})
		}
		return []phases.Wave{w}, nil
	}}
}

// running are the facts of hosts whose unit runs with other inputs.
func running(name string, hosts ...string) resource.Facts {
	facts := resource.Facts{}
	for _, h := range hosts {
		facts[resource.Key{Host: h, Kind: resource.KindUnit, Name: name + ".service"}] = resource.Fact{Exists: true, Active: true, Digest: "old", Detail: "enabled"}
	}
	return facts
}

// gate is a condition that holds on all hosts but bad.
func (s *stage) gate(bad string) func(*phases.Env, inventory.Host) []health.Condition {
	return func(_ *phases.Env, h inventory.Host) []health.Condition {
		return []health.Condition{{Name: "ready", Host: h.Name, Timeout: time.Second, Check: func(context.Context) error {
			if h.Name == bad {
				return errors.New("not ready")
			}
			s.add("gate " + h.Name)
			return nil
		}}}
	}
}

func TestControlPlanesRestartOneAfterTheOtherEachWhenTheOneBeforeIsGood(t *testing.T) {
	s := newStage(t)
	planned := planOf(t, s.env.Cluster, []phases.Phase{phase("x", s.gate(""), planes...)}, running("x", planes...))
	if err := s.run(t.Context(), planned); err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, h := range planes {
		want = append(want, "done "+h+" create /x", "done "+h+" restart x.service", "gate "+h)
	}
	if !slices.Equal(s.log, want) {
		t.Errorf("log\n%s\nwant\n%s", strings.Join(s.log, "\n"), strings.Join(want, "\n"))
	}
}

func TestApplyStopsAtTheFirstBadGateAndTouchesNothingElse(t *testing.T) {
	s := newStage(t)
	synctest.Test(t, func(t *testing.T) {
		planned := planOf(t, s.env.Cluster, []phases.Phase{phase("x", s.gate("cp-2"), planes...), phase("y", nil, every...)}, running("x", planes...))
		err := s.run(t.Context(), planned)
		var late *health.Error
		if !errors.As(err, &late) || late.Condition.Host != "cp-2" || !strings.HasPrefix(err.Error(), "phase x: cp-2: ready: not within 1s: not ready") {
			t.Errorf("error %v", err)
		}
	})
	if paths := s.fakes["cp-3"].Paths(); len(paths) != 0 || len(s.fakes["cp-3"].Commands()) != 0 {
		t.Errorf("the host after the bad one got %v", paths)
	}
	for name, f := range s.fakes {
		if _, ok := f.File("/y"); ok {
			t.Errorf("%s got what the next phase puts", name)
		}
	}
}

func TestApplyStopsAtABadGateOfThePhaseItself(t *testing.T) {
	s := newStage(t)
	synctest.Test(t, func(t *testing.T) {
		first := phase("x", nil, planes...)
		first.Gates = func(*phases.Env) []health.Condition {
			return []health.Condition{{Name: "quorum", Timeout: time.Second, Check: func(context.Context) error { return errors.New("no leader") }}}
		}
		err := s.run(t.Context(), planOf(t, s.env.Cluster, []phases.Phase{first, phase("y", nil, planes...)}, nil))
		if err == nil || !strings.HasPrefix(err.Error(), "phase x: quorum: not within 1s: no leader") {
			t.Errorf("error %v", err)
		}
	})
	if _, ok := s.fakes["cp-1"].File("/y"); ok {
		t.Error("the phase after a bad gate began")
	}
}

func TestAHostThatFailsIsNamedAndEndsTheRunBehindItsBatch(t *testing.T) {
	s := newStage(t)
	s.fakes["worker-1"].SetDown(errors.New("no route to host"))
	err := s.run(t.Context(), planOf(t, s.env.Cluster, []phases.Phase{phase("x", nil, every...), phase("y", nil, every...)}, nil))
	if err == nil || !strings.Contains(err.Error(), "phase x: worker-1: put /x") || !strings.Contains(err.Error(), "no route to host") {
		t.Errorf("error %v", err)
	}
	if !slices.Contains(s.log, "failed worker-1 create /x") || !slices.Contains(s.log, "done cp-3 start x.service") {
		t.Errorf("log %q: want the failed step, and the others of the batch done", s.log)
	}
	for name, f := range s.fakes {
		if _, ok := f.File("/y"); ok {
			t.Errorf("%s got what the next phase puts", name)
		}
	}
}

func TestEveryStepIsReportedFromBeginToEnd(t *testing.T) {
	s := newStage(t)
	if err := s.run(t.Context(), planOf(t, s.env.Cluster, []phases.Phase{phase("x", nil, "cp-1")}, nil)); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range s.events {
		got = append(got, string(e.Kind)+" "+e.Host+" "+e.Text)
	}
	want := []string{"phase-start  ", "step-start cp-1 create /x", "step-end cp-1 create /x", "step-start cp-1 start x.service", "step-end cp-1 start x.service", "phase-end  "}
	if !slices.Equal(got, want) || s.events[0].Total != 2 {
		t.Errorf("events %q, total %d; want %q", got, s.events[0].Total, want)
	}
}

func TestAnInterruptedRunBeginsNothingMore(t *testing.T) {
	s := newStage(t)
	ctx, cancel := context.WithCancel(t.Context())
	gates := func(*phases.Env, inventory.Host) []health.Condition {
		return []health.Condition{{Name: "ready", Timeout: time.Minute, Check: func(context.Context) error {
			cancel()
			return errors.New("not yet")
		}}}
	}
	err := s.run(ctx, planOf(t, s.env.Cluster, []phases.Phase{phase("x", gates, planes...)}, running("x", planes...)))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if _, ok := s.fakes["cp-2"].File("/x"); ok {
		t.Error("another host was begun after the interrupt")
	}
}

// TestTheAPIIsReachedThroughTheFirstControlPlaneThatAnswers with certificates of the cluster, and
// its nodes are labelled there.
func TestTheAPIIsReachedThroughTheFirstControlPlaneThatAnswers(t *testing.T) {
	s := newStage(t)
	secrets := s.env.Cluster.Secrets
	leaf, _ := secrets.Leaf("cp-2", pki.APIServer)
	pair, err := tls.X509KeyPair(leaf.CertPEM, leaf.KeyPEM.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	clients := x509.NewCertPool()
	clients.AppendCertsFromPEM(secrets.CA(pki.ClusterCA).CertPEM)
	var user string
	ts := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user = r.TLS.PeerCertificates[0].Subject.CommonName
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"kind":"Node","apiVersion":"v1","metadata":{"name":"worker-1"}}`)
	}))
	ts.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: clients, ClientAuth: tls.RequireAndVerifyClientCert}
	ts.StartTLS()
	defer ts.Close()
	s.fakes["cp-1"].SetDown(errors.New("no route to host"))
	s.fakes["cp-2"].HandleDial(func(ctx context.Context, network, addr string) (net.Conn, error) {
		if addr != components.HostPort("127.0.0.1", components.APIServerPort) {
			t.Errorf("dialled %s", addr)
		}
		return new(net.Dialer).DialContext(ctx, network, ts.Listener.Addr().String())
	})
	wave := phases.Wave{Resources: []resource.Resource{resource.Node{Host: "worker-1", Labels: map[string]string{"a": "b"}}}}
	labels := phases.Phase{Name: "labels", Waves: func(*phases.Cluster, map[string]bool) ([]phases.Wave, error) { return []phases.Wave{wave}, nil }}
	if err := s.run(t.Context(), planOf(t, s.env.Cluster, []phases.Phase{labels}, nil)); err != nil {
		t.Fatal(err)
	}
	if user != "clusterctl:super-admin" {
		t.Errorf("the API knows us as %q", user)
	}
}

// TestRemoveTakesWorkersBeforeControlPlanes, since these serve the others.
func TestRemoveTakesWorkersBeforeControlPlanes(t *testing.T) {
	s := newStage(t)
	for name, f := range s.fakes {
		f.Handle(func(context.Context, host.Cmd) (host.Result, error) {
			s.add(name)
			return host.Result{Stdout: []byte("left\t/var/lib/etcd/member\n")}, nil
		}, "sh")
	}
	left, err := phases.Remove(t.Context(), s.env, 8, event.Discard)
	if err != nil || len(left) != 5 {
		t.Errorf("left %v, error %v", left, err)
	}
	if len(s.log) != 5 || !strings.HasPrefix(s.log[0], "worker-") || !strings.HasPrefix(s.log[1], "worker-") {
		t.Errorf("order %v, want workers first", s.log)
	}
}

// TestArtifactsThatHadToBeReadAreRemembered: only those, where they are right.
func TestArtifactsThatHadToBeReadAreRemembered(t *testing.T) {
	s := newStage(t)
	wants, err := phases.Wants(s.env.Cluster, phases.Up(), nil)
	if err != nil {
		t.Fatal(err)
	}
	facts := resource.Facts{}
	for _, w := range wants {
		if _, ok := w.(resource.Artifact); !ok {
			continue
		}
		f := resource.Fact{Exists: true, Digest: w.Digest()}
		switch w.Key().Host {
		case "cp-1":
			f.Detail = observe.Unremembered
		case "cp-2":
			f.Detail, f.Digest = observe.Unremembered, "another"
		}
		facts[w.Key()] = f
	}
	if err := phases.Remember(t.Context(), s.env, facts, 2); err != nil {
		t.Fatal(err)
	}
	for name, f := range s.fakes {
		if n := len(f.Commands()); (n > 0) != (name == "cp-1") {
			t.Errorf("%s was told %d times", name, n)
		}
	}
}
