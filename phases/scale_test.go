package phases_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"clusterctl/components/resource"
	"clusterctl/phases"
	"clusterctl/phases/etcdapi"
	"clusterctl/phases/plan"
	"clusterctl/pki"
	"clusterctl/provision/inventory"
)

// world is a cluster as steps leave it: facts of hosts and API, and etcd's members.
type world struct {
	t       *testing.T
	secrets *pki.Secrets
	facts   resource.Facts
	members etcdapi.Members
	founded phases.Founding
	known   []inventory.Host // of the last run
	ids     uint64
	up      bool // etcd had a quorum once: it must never lose it again
}

func newWorld(t *testing.T) *world {
	return &world{t: t, secrets: newSecrets(t), facts: resource.Facts{}}
}

// clone is the same world, to go another way from here.
func (w *world) clone() *world {
	next := *w
	next.facts, next.members, next.known = maps.Clone(w.facts), slices.Clone(w.members), slices.Clone(w.known)
	return &next
}

// hosts is a spec of control planes and workers by number: cp-1 is at 192.0.2.11.
func hosts(planes, workers []int) string {
	var b strings.Builder
	b.WriteString("apiVersion: clusterctl/v1alpha1\nkind: Cluster\nmetadata: {name: dev}\nspec:\n  provider: {ssh: {}}\n  kubernetes: {version: v1.37.2}\n  controlPlane:\n    hosts:\n")
	for _, n := range planes {
		fmt.Fprintf(&b, "      - {name: cp-%d, address: 192.0.2.%d}\n", n, 10+n)
	}
	b.WriteString("  workers:\n  - name: default\n    hosts:\n")
	for _, n := range workers {
		fmt.Fprintf(&b, "      - {name: worker-%d, address: 198.18.0.%d}\n", n, n)
	}
	return b.String()
}

// look gives the cluster of a spec as a run sees it, and the run's steps.
func (w *world) look(text string, edit ...func(*phases.Cluster)) (*phases.Cluster, []plan.Step) {
	w.t.Helper()
	c := clusterOf(w.t, text, w.secrets)
	if w.founded.EtcdClusterID == "" {
		w.founded = c.Identity
	}
	c.Identity = w.founded
	c.Leaving = phases.Leavers(c.Inventory, w.known)
	for _, e := range edit {
		e(c)
	}
	if w.up {
		c.Members = w.members
	}
	out := phases.Observed{Facts: maps.Clone(w.facts)}
	c.Settle(out)
	steps := stepsOf(planOf(w.t, c, phases.Up(), out.Facts))
	w.known = c.Known().Hosts
	return c, steps
}

// run does all steps of a spec, and holds that nothing is left then.
func (w *world) run(text string, edit ...func(*phases.Cluster)) {
	w.t.Helper()
	_, steps := w.look(text, edit...)
	w.do(steps)
	w.over(text)
	if _, left := w.look(text); len(left) != 0 {
		w.t.Errorf("%d steps are left, the first: %v", len(left), describe(left)[:1])
	}
}

// over is the end of a run: hosts that left are forgotten.
func (w *world) over(text string) {
	_, inv := parse(w.t, text)
	w.known = inv.Hosts
}

func (w *world) do(steps []plan.Step) {
	w.t.Helper()
	for _, s := range steps {
		w.step(s)
		w.check(s)
	}
}

// check holds that etcd has a quorum at every moment since it had its first, and one learner at most.
func (w *world) check(after plan.Step) {
	w.t.Helper()
	if w.members.Alive() >= w.members.Quorum() && len(w.members) > 0 {
		w.up = true
	} else if w.up {
		w.t.Errorf("after %s %s: %s", after.Verb, after.Key, w.members.Arithmetic())
	}
	if n := len(w.members) - len(w.members.Voters()); n > 1 {
		w.t.Errorf("after %s %s there are %d learners", after.Verb, after.Key, n)
	}
}

func (w *world) step(s plan.Step) {
	w.t.Helper()
	plan.Model(w.facts, s)
	switch r := s.Want.(type) {
	case resource.Member:
		w.join(r)
	case resource.Voter:
		w.edit(r.Name, r.PeerURL, func(m *etcdapi.Entry) { m.Voter = true })
	case resource.NoMember:
		if m, ok := w.members.Find(r.Name, r.PeerURL); ok {
			if err := w.members.MayRemove(m.ID); err != nil {
				w.t.Errorf("a member is removed: %v", err)
			}
			w.members = w.members.Without(m.ID)
		}
	case resource.Unit:
		if r.Name == "etcd.service" {
			w.start(r.Host)
		}
	case resource.Aside:
		w.edit(r.Host, "", func(m *etcdapi.Entry) { m.Alive = false })
	case resource.Vacant:
		w.edit(r.Host, "", func(m *etcdapi.Entry) { m.Alive = false })
		maps.DeleteFunc(w.facts, func(k resource.Key, _ resource.Fact) bool { return k.Host == r.Host })
		w.facts[r.Key()] = resource.Gone()
	}
}

func (w *world) join(r resource.Member) {
	if w.members.Alive() < w.members.Quorum() {
		w.t.Errorf("%s is added without a quorum", r.Name)
	}
	if m, ok := w.members.Find(r.Name, r.PeerURL); ok {
		w.edit(m.Name, m.PeerURL, func(m *etcdapi.Entry) { m.PeerURL = r.PeerURL })
		return
	}
	w.ids++
	w.members = append(w.members, etcdapi.Entry{ID: 100 + w.ids, PeerURL: r.PeerURL})
}

// start starts the member of a host: the first one founds the cluster with all founders.
func (w *world) start(host string) {
	if len(w.members) == 0 {
		for i, m := range w.founded.EtcdMembers {
			w.members = append(w.members, etcdapi.Entry{ID: uint64(i + 1), Name: m.Name, PeerURL: m.PeerURL, Voter: true})
		}
	}
	w.facts[resource.Aside{Host: host}.Key()] = resource.Present("data of an earlier life")
	w.facts[resource.Key{Host: host, Kind: resource.KindSeed, Name: "/etc/kubernetes/etcd-start.env"}] = resource.Fact{Exists: true, Digest: resource.SeedOver}
	for _, h := range w.known {
		if h.Name == host {
			w.edit(host, "https://"+h.Address.String()+":2380", func(m *etcdapi.Entry) { m.Name, m.Started, m.Alive, m.Index = host, true, true, 1 })
		}
	}
}

func (w *world) edit(name, url string, change func(*etcdapi.Entry)) {
	found, ok := w.members.Find(name, url)
	for i := range w.members {
		if ok && w.members[i].ID == found.ID {
			w.members = slices.Clone(w.members)
			change(&w.members[i])
		}
	}
}

// shape is what two worlds must have in common when they came to the same place.
func (w *world) shape() string {
	var out []string
	for _, m := range w.members {
		out = append(out, fmt.Sprintf("member %s %s voter %v alive %v", m.Name, m.PeerURL, m.Voter, m.Alive))
	}
	for k, f := range w.facts {
		if _, there := f, f.Exists; there && f != resource.Gone() && k.Kind != resource.KindAside && k.Kind != resource.KindSeed &&
			k.Kind != resource.KindMember && k.Kind != resource.KindVoter {
			out = append(out, fmt.Sprint(k, f))
		}
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

var (
	one   = hosts([]int{1}, []int{1})
	three = hosts([]int{1, 2, 3}, []int{1, 2})
)

func TestScalingKeepsTheQuorumAtEveryStep(t *testing.T) {
	for name, way := range map[string][]string{
		"1+1 to 3+2 and back": {one, three, one},
		"3+2 to 1+1":          {three, one},
		"first of three goes": {three, hosts([]int{2, 3, 4}, []int{1, 2})},
		"1 to 5 to 3":         {one, hosts([]int{1, 2, 3, 4, 5}, []int{1}), hosts([]int{2, 4, 5}, []int{1})},
		"all three change":    {three, hosts([]int{4, 5, 6}, []int{2, 3})},
		"the only one goes":   {one, hosts([]int{2}, []int{1})},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for _, text := range way {
				w.run(text)
			}
			_, inv := parse(t, way[len(way)-1])
			if len(w.members) != len(inv.ControlPlanes()) || w.members.Alive() != len(w.members) {
				t.Errorf("at the end: %+v", w.members)
			}
			for k := range w.facts {
				if _, named := inv.Get(k.Host); k.Host != "" && !named && k.Kind != resource.KindVacant {
					t.Errorf("%s is left on a host that is not in the spec", k)
				}
			}
		})
	}
}

// TestAScalingThatIsKilledAnywhereEndsInTheSamePlace kills the run after every step that changes
// who is in the cluster or what runs.
func TestAScalingThatIsKilledAnywhereEndsInTheSamePlace(t *testing.T) {
	before := newWorld(t)
	before.run(one)
	for _, text := range []string{three, hosts([]int{2, 3, 4}, []int{2})} {
		_, steps := before.clone().look(text)
		final := before.clone()
		final.run(text)
		for i, s := range steps {
			if !slices.Contains([]resource.Kind{resource.KindMember, resource.KindVoter, resource.KindNoMember, resource.KindAside, resource.KindSeed,
				resource.KindVacant, resource.KindNoNode, resource.KindNoPods}, s.Key.Kind) && s.Key.Name != "etcd.service" {
				continue
			}
			w := before.clone()
			w.look(text)
			w.do(steps[:i+1])
			w.run(text)
			if w.shape() != final.shape() {
				t.Errorf("a run that was killed after %s %s ends elsewhere", s.Verb, s.Key)
			}
		}
		before = final
	}
}

// TestWhatHappensToDataIsSaidWhereThereIsAny: etcd's, and not that of workers.
func TestWhatHappensToDataIsSaidWhereThereIsAny(t *testing.T) {
	w := newWorld(t)
	w.run(three)
	for _, purge := range []bool{false, true} {
		said := map[string]string{}
		_, steps := w.clone().look(hosts([]int{2, 3, 4}, []int{2}), func(c *phases.Cluster) { c.Purge = purge })
		for _, s := range steps {
			if s.Key.Kind == resource.KindVacant {
				said[s.Key.Host] = s.Want.Title()
			}
		}
		plane := map[bool]string{false: "; etcd's data is renamed", true: ", with etcd's data"}[purge]
		want := map[string]string{"cp-1": "units, files and pods on cp-1" + plane, "worker-1": "units, files and pods on worker-1"}
		if !maps.Equal(said, want) {
			t.Errorf("purge %v: said %q, want %q", purge, said, want)
		}
	}
}

func TestAHostThatJoinsAndOneThatLeavesAtItsAddress(t *testing.T) {
	w := newWorld(t)
	w.run(three)
	text := strings.Replace(three, "name: cp-1,", "name: cp-9,", 1)
	_, steps := w.look(text)
	order := describe(steps)
	vacated := slices.Index(order, "delete cp-1:vacant:host")
	added := slices.Index(order, "create :member:cp-9")
	first := slices.IndexFunc(steps, func(s plan.Step) bool { return s.Key.Host == "cp-9" })
	if vacated < 0 || added < vacated || first < vacated {
		t.Errorf("vacated at step %d, the new host begins at %d and joins at %d", vacated, first, added)
	}
	w.do(steps)
	w.over(text)
	if len(w.members) != 3 {
		t.Errorf("members %+v", w.members)
	}
}

// TestJoiningMembersRestartNobodysEtcd: API servers learn of the new members one after the other,
// and the members that are there stay up.
func TestJoiningMembersRestartNobodysEtcd(t *testing.T) {
	w := newWorld(t)
	w.run(one)
	_, steps := w.look(three)
	var restarts []string
	for _, s := range steps {
		if s.Verb == plan.Restart {
			restarts = append(restarts, s.Key.Host+" "+s.Key.Name)
		}
	}
	if want := []string{"cp-1 kube-apiserver.service"}; !slices.Equal(restarts, want) {
		t.Errorf("restarts %v, want %v", restarts, want)
	}
}

func TestBalancersKnowNewAPIServersBeforeAnOldOneStops(t *testing.T) {
	w := newWorld(t)
	w.run(one)
	_, steps := w.look(three, func(c *phases.Cluster) { c.Running = phases.Versions{"cp-1": {"kube-apiserver": "v1.37.2"}} })
	at := func(host string, verb plan.Verb, name string) int {
		return slices.IndexFunc(steps, func(s plan.Step) bool {
			return s.Key.Host == host && s.Verb == verb && s.Key.Name == name
		})
	}
	stops := at("cp-1", plan.Restart, "kube-apiserver.service")
	if stops < 0 {
		t.Fatal("the API server that runs is not restarted")
	}
	for _, name := range []string{"cp-1", "worker-1"} {
		if known := at(name, plan.Update, "/etc/kubernetes/balancer.json"); known < 0 || known > stops {
			t.Errorf("the balancer of %s hears of new API servers in step %d, the old one stops in step %d", name, known, stops)
		}
	}
}

func TestAReplacedMemberIsRemovedByItsEntryAndJoinsWithTheListThatIsLeft(t *testing.T) {
	w := newWorld(t)
	w.run(three)
	w.edit("cp-2", "", func(m *etcdapi.Entry) { m.Alive = false })
	maps.DeleteFunc(w.facts, func(k resource.Key, _ resource.Fact) bool { return k.Host == "cp-2" }) // its disk is new
	w.facts[resource.Aside{Host: "cp-2"}.Key()] = resource.Gone()

	if c, _ := w.clone().look(three); len(phases.Refusals(c, w.facts)) != 1 || !strings.Contains(phases.Refusals(c, w.facts)[0].Remedy, "clusterctl replace spec.yaml cp-2") {
		t.Errorf("a voter without data is started: %+v", phases.Refusals(c, w.facts))
	}
	replace := func(c *phases.Cluster) { c.Replacing = "cp-2" }
	c, steps := w.look(three, replace)
	if bad := phases.Refusals(c, w.facts); len(bad) != 0 {
		t.Errorf("refused: %+v", bad)
	}
	at := func(step string) int { return slices.Index(describe(steps), step) }
	gone, added, vote := at("delete :no-member:cp-2"), at("create :member:cp-2"), at("create :voter:cp-2")
	if gone < 0 || added < gone || vote < added {
		t.Errorf("removed at %d, added at %d, votes at %d", gone, added, vote)
	}
	for _, s := range steps {
		if seed, ok := s.Want.(resource.Seed); ok {
			text := string(seed.File.Content)
			if s.Key.Host != "cp-2" || !strings.Contains(text, "STATE=existing") ||
				!strings.Contains(text, "ETCD_INITIAL_CLUSTER=cp-1=https://192.0.2.11:2380,cp-3=https://192.0.2.13:2380,cp-2=https://192.0.2.12:2380\n") {
				t.Errorf("%s starts with\n%s", s.Key.Host, text)
			}
		}
	}
	for i := range steps { // killed at any step, the run without "replace" completes it
		if i < gone {
			continue
		}
		again := w.clone()
		again.do(steps[:i+1])
		again.run(three)
		if m, ok := again.members.Find("cp-2", ""); !ok || !m.Voter || !m.Alive || len(again.members) != 3 {
			t.Errorf("killed after step %d: %+v", i+1, again.members)
		}
		if i > vote+3 {
			break
		}
	}
}

func TestADeadMemberGoesBeforeItsSuccessorComes(t *testing.T) {
	w := newWorld(t)
	w.run(three)
	w.edit("cp-2", "", func(m *etcdapi.Entry) { m.Alive = false })
	_, steps := w.look(hosts([]int{1, 3, 4}, []int{1, 2}))
	order := describe(steps)
	gone, added := slices.Index(order, "delete :no-member:cp-2"), slices.Index(order, "create :member:cp-4")
	if gone < 0 || added < gone {
		t.Errorf("the dead member goes at step %d, the next comes at %d", gone, added)
	}
	w.run(hosts([]int{1, 3, 4}, []int{1, 2}))
	if w.members.Alive() != 3 || len(w.members) != 3 {
		t.Errorf("members %+v", w.members)
	}
}

func TestAMovedMemberIsUpdatedByItsEntryBeforeItIsRestarted(t *testing.T) {
	w := newWorld(t)
	w.run(three)
	text := strings.Replace(three, "address: 192.0.2.12}", "address: 192.0.2.77}", 1)
	_, steps := w.look(text)
	order := describe(steps)
	moved, restarted := slices.Index(order, "update :member:cp-2"), slices.Index(order, "restart cp-2:unit:etcd.service")
	if moved < 0 || restarted < moved {
		t.Errorf("the entry is updated at step %d, the member restarted at %d", moved, restarted)
	}
	w.run(text)
	if m, _ := w.members.Find("cp-2", ""); m.PeerURL != "https://192.0.2.77:2380" {
		t.Errorf("the entry says %s", m.PeerURL)
	}
}

// TestNoKubeletIsNewerThanAnAPIServer: hosts that join in the middle of an upgrade get their
// kubelets when all API servers have the version.
func TestNoKubeletIsNewerThanAnAPIServer(t *testing.T) {
	w := newWorld(t)
	w.run(strings.Replace(one, "v1.37.2", "v1.36.3", 1))
	_, steps := w.look(three)
	kubelet, server := -1, -1
	for i, s := range steps {
		switch {
		case s.Key.Name == "kubelet.service" && kubelet < 0:
			kubelet = i
		case s.Key.Name == "kube-apiserver.service":
			server = i
		}
	}
	if kubelet < server {
		t.Errorf("a kubelet starts at step %d, the last API server at %d", kubelet, server)
	}
}

func TestRemovalsThatWouldLoseTheQuorumAreRefusedBeforeAnythingIsChanged(t *testing.T) {
	w := newWorld(t)
	w.run(three)
	w.edit("cp-3", "", func(m *etcdapi.Entry) { m.Alive = false })
	for text, refused := range map[string]int{
		hosts([]int{1, 2, 4}, []int{1, 2}): 0, // the dead one goes, then cp-4 comes
		hosts([]int{2, 3, 4}, []int{1, 2}): 0, // cp-4 joins before cp-1 goes
		hosts([]int{3}, []int{1, 2}):       2,
		hosts([]int{1}, []int{1, 2}):       0, // the dead one goes first
		one:                                0,
	} {
		c, _ := w.clone().look(text)
		if got := phases.Refusals(c, w.facts); len(got) != refused {
			t.Errorf("%s\n%d refusals, want %d: %+v", text, len(got), refused, got)
		}
	}
}
