//go:build e2e

package e2e

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"clusterctl/components/bundle"
	"clusterctl/phases"
	"clusterctl/phases/state"
	"clusterctl/provision/event"
	"clusterctl/provision/host"
	"clusterctl/provision/host/sshhost"
	"clusterctl/provision/inventory"
	"clusterctl/provision/local"
	"clusterctl/provision/spec"
)

// park is machines that were there before, which a cluster's spec names one by one.
type park struct {
	provider *local.Provider
	spec     *spec.Cluster // of the machines
	inv      inventory.Inventory
}

// TestScale takes a cluster from two machines to five, takes its first control plane away, makes
// another one anew, changes and repairs it and moves an address, while a client that knows nothing of it
// goes on.
func TestScale(t *testing.T) {
	if err := os.RemoveAll(filepath.Join(shared.work, "e2e-scale")); err != nil { // of other machines
		t.Fatal(err)
	}
	p := newPark(t)
	c := newCluster(t, "e2e-scale", p.text([]int{0}, []int{3}))
	up := func(args ...string) { c.cli(t, append([]string{"up", c.spec, "--yes"}, args...)...).exits(t, 0) }
	name := func(i int) string { return p.inv.Hosts[i].Name }
	up()
	client := startTraffic(t, c.balancedClient(t, name(3)))

	c.write(t, p.text([]int{0, 1, 2}, []int{3, 4}))
	firewallIsNamed(t, c, p, p.inv.Hosts[1], p.inv.Hosts[0])
	up()
	c.cli(t, "plan", c.spec, "--detailed-exitcode").exits(t, 0)
	client.mark("1+1 to 3+2")
	stuckPodIsNamed(t, c, name(4), p.text([]int{0, 1, 2}, []int{3}))

	c.write(t, p.text([]int{1, 2, 4}, []int{3})) // the first goes, a worker becomes a control plane
	c.cli(t, "plan", c.spec).exits(t, 0).says(t, "etcd member "+name(0))
	c.cli(t, "up", c.spec, "--yes").exits(t, 3).says(t, "--allow-remove "+name(0))
	up("--allow-remove", name(0))
	c.hasLeft(t, p, name(0))
	client.mark("first control plane removed")

	p.reinstall(t, name(2))
	c.cli(t, "up", c.spec, "--yes").exits(t, 3).says(t, "clusterctl replace "+c.spec+" "+name(2))
	c.cli(t, "replace", c.spec, name(2), "--yes").exits(t, 0).says(t, "2 of 3 voting members answer, 2 are needed")
	c.cli(t, "replace", c.spec, name(2), "--yes").exits(t, 3).says(t, "is alive")
	client.mark("another one replaced")

	c.edit(t, "event-ttl: 1h0m0s", "event-ttl: 2h0m0s")
	addressMoves(t, c, p, p.inv.Hosts[1])
	client.mark("API servers' argument changed, a control plane's address moved")
	tamper(t, c, p, name(1), name(3))
	up()
	c.cli(t, "plan", c.spec, "--detailed-exitcode").exits(t, 0)
	client.mark("five changes by hand repaired")
	client.report(t)
	c.heals(t)
	purged(t, c, p, p.inv.Hosts[2], p.inv.Hosts[4])
	c.cli(t, "down", c.spec, "--yes").exits(t, 0)
	for _, h := range p.inv.Hosts {
		p.empty(t, h.Name)
	}
}

// newPark makes five machines.
func newPark(t *testing.T) *park {
	t.Helper()
	dir := filepath.Join(shared.work, "park")
	text := "apiVersion: clusterctl/v1alpha1\nkind: Cluster\nmetadata: {name: e2e-park}\nspec:\n  kubernetes: {version: " + kubernetesVersion +
		"}\n  provider: {local: {}}\n  controlPlane: {replicas: 3}\n  workers: [{name: default, replicas: 2}]\n"
	s, err := spec.Parse(filepath.Join(dir, "machines.yaml"), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	p := &park{spec: s, provider: machines(t, s)}
	t.Cleanup(func() {
		if err := p.provider.Destroy(context.Background(), s, event.Discard); err != nil {
			t.Errorf("the machines are left behind: %v", err)
		}
	})
	if err := p.provider.Destroy(t.Context(), s, event.Discard); err != nil { // of a run that was killed
		t.Fatal(err)
	}
	if p.inv, err = p.provider.Ensure(t.Context(), s, event.Discard); err != nil {
		t.Fatal(err)
	}
	return p
}

// machines makes machines with the bundle's programs on them, as an image would have them; what it keeps is beside the spec.
func machines(t *testing.T, s *spec.Cluster) *local.Provider {
	t.Helper()
	b, err := bundle.Open(filepath.Join(shared.cache, "bundles"), kubernetesVersion, "linux", "amd64")
	if err != nil {
		t.Fatal(err)
	}
	inv, err := local.Plan(s)
	if err != nil {
		t.Fatal(err)
	}
	prepared, err := phases.Prepare(phases.Sources{Spec: s, Inventory: inv, State: state.Open(s.Path, "none"), Bundle: b, Now: time.Now(), Rand: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	programs, err := phases.Programs(prepared.Cluster, b)
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	return local.New(local.Options{StateDir: filepath.Join(filepath.Dir(s.Path), "state"), CacheDir: shared.cache, Runc: shared.runc, Log: log}).WithPrograms(programs)
}

// text is a spec of some of the machines.
func (p *park) text(planes, workers []int) string {
	var b strings.Builder
	ssh := p.inv.Hosts[0].SSH
	fmt.Fprintf(&b, "apiVersion: clusterctl/v1alpha1\nkind: Cluster\nmetadata:\n  name: e2e-scale\nspec:\n  kubernetes:\n    version: %s\n    apiServerArgs:\n      event-ttl: 1h0m0s\n"+
		"  provider:\n    ssh: {user: root, keyPath: %s, knownHostsPath: %s}\n  controlPlane:\n    hosts:\n", kubernetesVersion, ssh.KeyPath, ssh.KnownHostsPath)
	for _, i := range planes {
		fmt.Fprintf(&b, "    - {name: %s, address: %s}\n", p.inv.Hosts[i].Name, p.inv.Hosts[i].Address)
	}
	b.WriteString("  workers:\n  - name: default\n    hosts:\n")
	for _, i := range workers {
		fmt.Fprintf(&b, "    - {name: %s, address: %s}\n", p.inv.Hosts[i].Name, p.inv.Hosts[i].Address)
	}
	return b.String()
}

// reinstall takes a machine's disk away and gives it a new one.
func (p *park) reinstall(t *testing.T, name string) {
	t.Helper()
	if err := p.provider.Discard(t.Context(), p.spec, name, event.Discard); err != nil {
		t.Fatal(err)
	}
	if _, err := p.provider.Ensure(t.Context(), p.spec, event.Discard); err != nil {
		t.Fatal(err)
	}
}

// firewallIsNamed has a host that joins reject what a member sends to its peer port, which looks as if
// nobody listened there: the member is not added.
func firewallIsNamed(t *testing.T, c *cluster, p *park, joins, member inventory.Host) {
	rule := fmt.Sprintf(" INPUT -p tcp -s %s --dport 2380 -j REJECT --reject-with tcp-reset", member.Address)
	p.run(t, joins.Name, "iptables -I"+rule)
	c.cli(t, "up", c.spec, "--yes").exits(t, 1).says(t, fmt.Sprintf("%s:2380 is not reached from %s", joins.Address, member.Name), "open TCP port 2380")
	p.run(t, joins.Name, "iptables -D"+rule)
}

// hasLeft holds that a host that left has nothing of the cluster but etcd's data under another name.
func (c *cluster) hasLeft(t *testing.T, p *park, name string) {
	t.Helper()
	p.empty(t, name)
	if got := p.run(t, name, "ls /var/lib/etcd"); !strings.HasPrefix(got, "member.") {
		t.Errorf("etcd's data on %s: %q, want it under another name", name, got)
	}
	if nodes := c.kubectl(t, "get", "nodes", "-o", "name"); strings.Contains(nodes, name) {
		t.Errorf("%s is a node still:\n%s", name, nodes)
	}
	c.heals(t)
}

// empty holds that a machine has no unit, file, rule or device of a cluster.
func (p *park) empty(t *testing.T, name string) {
	t.Helper()
	if left := p.run(t, name, `ls -d /opt/clusterctl/* /etc/kubernetes /var/lib/clusterctl /var/lib/etcd/member 2>/dev/null | grep -v '^/opt/clusterctl/'
grep -ls /opt/clusterctl/ /etc/systemd/system/*.service
ip -br link | grep -E '^(cni0|flannel|kube-ipvs)'
nft list tables 2>/dev/null | grep -E 'kube-proxy|flannel'
iptables-save 2>/dev/null | grep -E '^:(CNI|FLANNEL|KUBE)-'
pgrep -af '^/opt/clusterctl/'; true`); left != "" {
		t.Errorf("left on %s:\n%s", name, left)
	}
}

// run runs a script as root on a machine, also on one that no cluster's state knows.
func (p *park) run(t *testing.T, name, script string) string {
	t.Helper()
	c := &cluster{hosts: host.NewPool(p.inv, sshhost.NewFleet(sshhost.Options{}).Open)}
	defer c.hosts.Close()
	return c.sh(t, name, script)
}

// tamper changes five things by hand, and holds that the plan names each.
func tamper(t *testing.T, c *cluster, p *park, plane, worker string) {
	t.Helper()
	p.run(t, worker, "systemctl stop flanneld")
	p.run(t, worker, "sysctl -q -w net.ipv4.ip_forward=0")
	p.run(t, plane, "rm /etc/kubernetes/pki/front-proxy-ca.crt")
	// Changed, started with the change, and put back: the file is as it should be, the process is not.
	// A unit that never restarts by itself: a scheduler that loses its lease on a busy machine does.
	p.run(t, worker, `f=/etc/systemd/system/kube-proxy.service; cp $f /root/was; sed -i 's/--hostname-override=/--v=1 &/; s/^Description=.*/& by hand/' $f
systemctl daemon-reload; systemctl restart kube-proxy; cp /root/was $f; rm /root/was`)
	c.kubectl(t, "--namespace", "kube-system", "scale", "deployment", "coredns", "--replicas", "1")
	plan := c.cli(t, "plan", c.spec, "--detailed-exitcode", "-o", "json").exits(t, 2)
	for _, what := range []string{"flanneld.service", "ip_forward", "front-proxy-ca.crt", "kube-proxy.service", "kube-system/coredns"} {
		if !strings.Contains(plan.stdout, what) {
			t.Errorf("the plan says nothing of %s:\n%s", what, plan.stdout)
		}
	}
}
