package phases_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"clusterctl/components"
	"clusterctl/components/resource"
	"clusterctl/phases"
	"clusterctl/phases/apply"
	"clusterctl/phases/etcdapi"
	"clusterctl/phases/plan"
	"clusterctl/provision/host"
	"clusterctl/provision/host/hosttest"
)

// fakeEtcd is a member list whose members come, or do not, once they were added.
type fakeEtcd struct {
	mu     sync.Mutex
	list   etcdapi.Members
	absent map[string]bool // peer URLs whose process never comes
	slow   int             // so many promotions are too early
	young  int             // so many additions are
	log    []string
	ids    uint64
}

var _ apply.EtcdAPI = (*fakeEtcd)(nil)

func (f *fakeEtcd) List(context.Context, time.Duration) (etcdapi.Members, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.list), nil
}

func (f *fakeEtcd) Add(_ context.Context, url string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if l, ok := f.list.Learner(); ok {
		return fmt.Errorf("%s is a learner still", l.Title())
	}
	if f.young--; f.young >= 0 {
		return etcdapi.ErrUnsettled
	}
	f.ids++
	f.log = append(f.log, "add "+url)
	e := etcdapi.Entry{ID: 100 + f.ids, PeerURL: url}
	if !f.absent[url] {
		e.Started, e.Alive, e.Index = true, true, 10
	}
	f.list = append(f.list, e)
	return nil
}

func (f *fakeEtcd) Promote(_ context.Context, id uint64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.slow--; f.slow >= 0 {
		return etcdapi.ErrNotReady
	}
	f.log = append(f.log, "promote")
	for i := range f.list {
		if f.list[i].ID == id {
			f.list[i].Voter = true
		}
	}
	return nil
}

func (f *fakeEtcd) Remove(_ context.Context, id uint64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.log = append(f.log, "remove")
	f.list = f.list.Without(id)
	return nil
}

func (f *fakeEtcd) Update(context.Context, uint64, string) error { return errors.New("not asked for") }

func (f *fakeEtcd) Lead(_ context.Context, to uint64) error {
	f.log = append(f.log, fmt.Sprintf("lead %d", to))
	return nil
}

// joining is a cluster of one control plane whose spec has three, with fake hosts that reach each
// other.
func joining(t *testing.T) (*stage, *fakeEtcd) {
	t.Helper()
	s := newStage(t)
	c := s.env.Cluster
	c.Identity.EtcdMembers = c.Identity.EtcdMembers[:1]
	etcd := &fakeEtcd{absent: map[string]bool{}}
	etcd.list = etcdapi.Members{{ID: 1, Name: "cp-1", PeerURL: c.Identity.EtcdMembers[0].PeerURL, Voter: true, Started: true, Alive: true, Leader: true, Index: 10}}
	s.env.EtcdAPI = etcd
	ports := &peers{open: map[string]bool{components.HostPort("192.0.2.11", components.EtcdPeerPort): true}}
	for _, f := range s.fakes {
		f.HandleDial(ports.dial)
		f.HandleStream(ports.listen, "sh", "-c", phases.ListenScript)
		f.Handle(hosttest.Print("etcd: listen tcp 192.0.2.12:2380: address already in use\n"), "journalctl")
	}
	return s, etcd
}

// peers is what listens on the hosts' peer ports.
type peers struct {
	mu   sync.Mutex
	open map[string]bool // by address
}

func (p *peers) set(addr string, open bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open[addr] = open
}

func (p *peers) dial(_ context.Context, _, addr string) (net.Conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.open[addr] {
		return nil, errRefused
	}
	conn, _ := net.Pipe()
	return conn, nil
}

// errRefused is what sshd says of a port without a listener, and of one that a firewall rejects.
var errRefused = errors.New("ssh: rejected: connect failed (Connection refused)")

// listen plays the script that listens until its input ends.
func (p *peers) listen(_ context.Context, c host.Cmd) (host.Result, error) {
	addr := c.Args[len(c.Args)-1]
	p.set(addr, true)
	defer p.set(addr, false)
	fmt.Fprintf(c.Stdout, "Listening on %s as 3.\n", addr)
	_, err := io.Copy(io.Discard, c.Stdin)
	return host.Result{}, err
}

// join walks the phase etcd without the gates of members, which ask a real etcd.
func join(t *testing.T, s *stage, etcd *fakeEtcd) error {
	t.Helper()
	c := s.env.Cluster
	c.Members = slices.Clone(etcd.list)
	i := slices.IndexFunc(phases.Up(), func(p phases.Phase) bool { return p.Name == "etcd" })
	phase := phases.Up()[i]
	phase.Gates = nil
	waves := phase.Waves
	phase.Waves = func(c *phases.Cluster, skip map[string]bool) ([]phases.Wave, error) {
		all, err := waves(c, skip)
		for i := range all { // made-up programs have no bytes
			all[i].Resources = slices.DeleteFunc(slices.Clone(all[i].Resources), func(r resource.Resource) bool { return r.Key().Kind == resource.KindArtifact })
		}
		return all[1:], err // the first is the members that are there
	}
	return s.run(t.Context(), planOf(t, c, []phases.Phase{phase}, nil))
}

func TestMembersJoinOneAfterTheOtherAsLearners(t *testing.T) {
	s, etcd := joining(t)
	etcd.slow, etcd.young = 3, 40
	synctest.Test(t, func(t *testing.T) {
		if err := join(t, s, etcd); err != nil {
			t.Fatal(err)
		}
	})
	want := []string{"add https://192.0.2.12:2380", "promote", "add https://192.0.2.13:2380", "promote"}
	if !slices.Equal(etcd.log, want) || etcd.list.Alive() != 3 {
		t.Errorf("done %q, want %q; members %+v", etcd.log, want, etcd.list)
	}
}

// TestAVoterThatIsAwayKeepsOthersFromJoining: etcd says so, and the run ends with its words.
func TestAVoterThatIsAwayKeepsOthersFromJoining(t *testing.T) {
	s, etcd := joining(t)
	etcd.young = 1 << 20
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := join(t, s, etcd); !errors.Is(err, etcdapi.ErrUnsettled) || time.Since(began) > time.Minute {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
	if len(etcd.log) != 0 {
		t.Errorf("done %q", etcd.log)
	}
}

func TestAMemberThatNeverComesIsTakenOutAgainWithItsLastLines(t *testing.T) {
	s, etcd := joining(t)
	const url = "https://192.0.2.12:2380"
	etcd.absent[url] = true
	synctest.Test(t, func(t *testing.T) {
		err := join(t, s, etcd)
		if err == nil || !strings.Contains(err.Error(), "cp-2: etcd member caught up") || !strings.Contains(err.Error(), "address already in use") {
			t.Errorf("error %v names neither the host nor what its member said", err)
		}
	})
	if want := []string{"add " + url, "remove"}; !slices.Equal(etcd.log, want) || len(etcd.list) != 1 {
		t.Errorf("done %q, want %q; members %+v", etcd.log, want, etcd.list)
	}
	if !slices.Contains(s.log, "done cp-2 delete "+resource.Aside{Host: "cp-2"}.Title()) {
		t.Errorf("what the member wrote is still there: %q", s.log)
	}
	if paths := s.fakes["cp-3"].Paths(); len(paths) != 0 {
		t.Errorf("the next one was begun: %v", paths)
	}
	etcd.absent, etcd.log = map[string]bool{}, nil
	synctest.Test(t, func(t *testing.T) {
		if err := join(t, s, etcd); err != nil || etcd.list.Alive() != 3 {
			t.Errorf("the next run: %v, members %+v", err, etcd.list)
		}
	})
}

func TestAPeerPortThatIsBlockedStopsBeforeTheMemberIsAdded(t *testing.T) {
	drops := func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	rejects := func(context.Context, string, string) (net.Conn, error) { return nil, errRefused }
	for name, c := range map[string]struct {
		from string // the host behind the firewall
		dial func(context.Context, string, string) (net.Conn, error)
		says string
	}{
		"member drops":    {"cp-2", drops, "192.0.2.11:2380 is not reached from cp-2: no answer within 5s"},
		"member rejects":  {"cp-2", rejects, "192.0.2.11:2380 is not reached from cp-2"},
		"newcomer drops":  {"cp-1", drops, "192.0.2.12:2380 is not reached from cp-1: no answer within 5s"},
		"newcomer reject": {"cp-1", rejects, "192.0.2.12:2380 is not reached from cp-1"},
	} {
		s, etcd := joining(t)
		s.fakes[c.from].HandleDial(c.dial)
		synctest.Test(t, func(t *testing.T) {
			err := join(t, s, etcd)
			if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "open TCP port 2380") {
				t.Errorf("%s: error %v", name, err)
			}
		})
		if len(etcd.log) != 0 {
			t.Errorf("%s: done %q", name, etcd.log)
		}
	}
}

// TestAHostThatCannotListenSaysWhy: the program is missing, or the address is not the host's.
func TestAHostThatCannotListenSaysWhy(t *testing.T) {
	s, etcd := joining(t)
	s.fakes["cp-2"].HandleStream(func(_ context.Context, c host.Cmd) (host.Result, error) {
		fmt.Fprintln(c.Stdout, "sh: 3: systemd-socket-activate: not found")
		_, err := io.Copy(io.Discard, c.Stdin)
		return host.Result{}, err
	}, "sh", "-c", phases.ListenScript)
	synctest.Test(t, func(t *testing.T) {
		if err := join(t, s, etcd); err == nil || !strings.Contains(err.Error(), "listen at 192.0.2.12:2380 on cp-2") || !strings.Contains(err.Error(), "not found") {
			t.Errorf("error %v", err)
		}
	})
	if len(etcd.log) != 0 {
		t.Errorf("done %q", etcd.log)
	}
}

func TestALeaderHandsOverBeforeItIsRemoved(t *testing.T) {
	etcd := &fakeEtcd{list: etcdapi.Members{
		{ID: 1, Name: "a", PeerURL: "https://a:2380", Voter: true, Alive: true, Leader: true}, {ID: 2, Name: "b", PeerURL: "https://b:2380", Voter: true},
		{ID: 3, Name: "c", PeerURL: "https://c:2380", Voter: true, Alive: true}, {ID: 4, Name: "d", PeerURL: "https://d:2380", Voter: true, Alive: true},
	}}
	remove := func(name string) error {
		r := resource.NoMember{Name: name}
		return apply.Etcd(t.Context(), etcd, []plan.Step{{Key: r.Key(), Verb: plan.Delete, Want: r}}, func(plan.Step) {})
	}
	if err := remove("a"); err != nil || !slices.Equal(etcd.log, []string{"lead 3", "remove"}) {
		t.Errorf("done %q, error %v", etcd.log, err)
	}
	var lost *etcdapi.QuorumError
	if err := remove("c"); !errors.As(err, &lost) || lost.ExitCode() != 3 || len(etcd.list) != 3 {
		t.Errorf("the quorum is given away: %v", err)
	}
	if err := remove("nobody"); err != nil {
		t.Errorf("a member that is gone: %v", err)
	}
}

func TestOneAddressWithTwoEntriesIsNamed(t *testing.T) {
	list := etcdapi.Members{{ID: 1, Name: "a", PeerURL: "https://192.0.2.11:2380"}, {ID: 2, Name: "b", PeerURL: "https://b.example.test:2380"}}
	resolve := func(name string) []string {
		return map[string][]string{"b.example.test": {"192.0.2.11"}}[name]
	}
	if err := list.Twice(resolve); err == nil || !strings.Contains(err.Error(), "one address, two entries") {
		t.Errorf("error %v", err)
	}
	if err := list.Twice(func(string) []string { return nil }); err != nil {
		t.Errorf("error %v", err)
	}
}
