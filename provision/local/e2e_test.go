//go:build e2e

package local

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"clusterctl/provision"
	"clusterctl/provision/event"
	"clusterctl/provision/inventory"
	"clusterctl/provision/local/localtest"
	"clusterctl/provision/spec"

	"github.com/google/go-cmp/cmp"
	"github.com/moby/sys/mountinfo"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

func newProvider(t *testing.T, stateDir string) *Provider {
	t.Helper()
	cache, runc := localtest.Tools(t)
	log := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
	return New(Options{StateDir: stateDir, CacheDir: cache, Runc: runc, Log: log})
}

func newCluster(name string, workers int) *spec.Cluster {
	s := &spec.Cluster{Metadata: spec.Metadata{Name: name}}
	sum := sha256.Sum256([]byte(name))
	s.Spec.Provider.Local = &spec.Local{Subnet: fmt.Sprintf("10.90.%d.0/24", sum[0])}
	s.Spec.ControlPlane.Replicas = 1
	s.Spec.Workers = []spec.WorkerPool{{Name: "default", Replicas: workers}}
	return s
}

func logTo(t *testing.T) event.Sink {
	return event.Func(func(e event.Event) { t.Logf("%s %s %s %v %v", e.Kind, e.Host, e.Text, e.Took, e.Err) })
}

// ensure runs Ensure and has the cluster destroyed at the end of the test, whatever happens.
func ensure(t *testing.T, p *Provider, s *spec.Cluster) inventory.Inventory {
	t.Helper()
	t.Cleanup(func() {
		if err := p.Destroy(context.Background(), s, event.Discard); err != nil {
			t.Errorf("destroy at the end: %v", err)
		}
	})
	began := time.Now()
	inv, err := p.Ensure(t.Context(), s, logTo(t))
	if err != nil {
		t.Fatalf("ensure: %v\n%s", err, consoles(p, s))
	}
	t.Logf("Ensure of %d hosts took %v", len(inv.Hosts), time.Since(began))
	return inv
}

func consoles(p *Provider, s *spec.Cluster) string {
	var b strings.Builder
	l, _ := newLayout(s)
	for _, h := range l.hosts.Hosts {
		data, _ := os.ReadFile(p.disk(l, h.Name).path("console.log"))
		fmt.Fprintf(&b, "== %s\n%s", h.Name, data)
	}
	return b.String()
}

func dial(t *testing.T, h inventory.Host) *ssh.Client {
	t.Helper()
	key, err := os.ReadFile(h.SSH.KeyPath)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.ParsePrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	known, err := knownhosts.New(h.SSH.KnownHostsPath)
	if err != nil {
		t.Fatal(err)
	}
	client, err := ssh.Dial("tcp", net.JoinHostPort(h.SSH.Address, strconv.Itoa(h.SSH.Port)), &ssh.ClientConfig{
		User: h.SSH.User, Auth: []ssh.AuthMethod{ssh.PublicKeys(signer)}, HostKeyCallback: known, Timeout: 10 * time.Second,
	})
	if err != nil {
		t.Fatalf("ssh to %s: %v", h.Name, err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

// run runs a command line on a host and gives what it printed; a non-zero exit fails the test.
func run(t *testing.T, h inventory.Host, line string) string {
	t.Helper()
	out, err := try(t, h, line)
	if err != nil {
		t.Fatalf("%s: %s: %v\n%s", h.Name, line, err, out)
	}
	return out
}

func try(t *testing.T, h inventory.Host, line string) (string, error) {
	t.Helper()
	session, err := dial(t, h).NewSession()
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	out, err := session.CombinedOutput(line)
	return strings.TrimSpace(string(out)), err
}

func TestHostsBehaveLikeMachines(t *testing.T) {
	before := traces(t)
	p, s := newProvider(t, t.TempDir()), newCluster("e2e-machines", 1)
	inv := ensure(t, p, s)
	a, b := inv.Hosts[0], inv.Hosts[1]

	for _, h := range inv.Hosts {
		if out, _ := try(t, h, "systemctl is-system-running --wait"); out != "running" {
			t.Errorf("%s is %s\n%s", h.Name, out, run(t, h, "systemctl --failed --no-legend; journalctl -b -p warning --no-pager | tail -50"))
		}
		if out := run(t, h, "systemctl --failed --no-legend"); out != "" {
			t.Errorf("%s: failed units: %s", h.Name, out)
		}
		if out := run(t, h, "hostname"); out != h.Name {
			t.Errorf("%s calls itself %s", h.Name, out)
		}
		t.Logf("%s: %s", h.Name, run(t, h, "systemd-analyze"))
	}
	run(t, a, "ping -c1 -W2 "+b.Name)
	run(t, b, "ping -c1 -W2 "+a.SSH.Address)
	if run(t, a, "cat /etc/machine-id") == run(t, b, "cat /etc/machine-id") {
		t.Error("two hosts have one machine id")
	}
	for _, path := range append(diskPaths(), "/", "/run", "/tmp", "/sys", "/dev") {
		if out := run(t, a, "findmnt -no PROPAGATION "+path); out != "shared" {
			t.Errorf("%s is %s", path, out)
		}
	}
	run(t, a, "mkdir -p /var/lib/kubelet/x && mount -t tmpfs tmpfs /var/lib/kubelet/x") // a pod's volume
	run(t, a, "for p in $(findmnt -rno TARGET -t cgroup,cgroup2); do mkdir $p/pod; sleep 1000 >/dev/null 2>&1 & echo $! > $p/pod/cgroup.procs; done")
	if l := traces(t).mounts; slices.ContainsFunc(l, func(m string) bool { return strings.Contains(m, "kubelet/x") }) {
		t.Error("a mount made inside a host is on the machine too")
	}

	if err := p.Destroy(t.Context(), s, logTo(t)); err != nil {
		t.Fatal(err)
	}
	before.compare(t, traces(t))
	began := time.Now()
	if err := p.Destroy(t.Context(), s, event.Discard); err != nil {
		t.Errorf("destroy again: %v", err)
	}
	t.Logf("Destroy of nothing took %v", time.Since(began))
	before.compare(t, traces(t))
}

func TestEnsureAgainChangesNothing(t *testing.T) {
	p, s := newProvider(t, t.TempDir()), newCluster("e2e-again", 1)
	inv := ensure(t, p, s)
	boot := run(t, inv.Hosts[0], "cat /proc/1/stat")
	began := time.Now()
	again, err := p.Ensure(t.Context(), s, event.Discard)
	if err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	t.Logf("Ensure of what is there took %v", took)
	if took > 2*time.Second {
		t.Errorf("it took %v", took)
	}
	if !slices.EqualFunc(inv.Hosts, again.Hosts, func(a, b inventory.Host) bool { return a.Name == b.Name && a.Address == b.Address }) {
		t.Errorf("inventory changed: %v, %v", inv, again)
	}
	start := func(stat string) string { return strings.Fields(stat)[21] }
	if got := run(t, inv.Hosts[0], "cat /proc/1/stat"); start(got) != start(boot) {
		t.Error("the host was started again")
	}
	changes, err := p.Preview(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		if c.Verb != provision.Keep {
			t.Errorf("preview says %+v", c)
		}
	}
}

func TestPowerCutKeepsTheDisk(t *testing.T) {
	p, s := newProvider(t, t.TempDir()), newCluster("e2e-power", 1)
	inv := ensure(t, p, s)
	h := inv.Hosts[0]
	run(t, h, "echo kept > /etc/kept; echo kept > /var/lib/etcd/kept")
	id := run(t, h, "cat /etc/machine-id /etc/ssh/ssh_host_ed25519_key.pub")

	began := time.Now()
	if err := p.Stop(t.Context(), s, h.Name); err != nil {
		t.Fatal(err)
	}
	t.Logf("Stop took %v", time.Since(began))
	if conn, err := net.DialTimeout("tcp", h.SSH.Address+":22", time.Second); err == nil {
		conn.Close()
		t.Error("a stopped host still answers")
	}
	if out, err := try(t, inv.Hosts[1], "ping -c1 -W1 "+h.SSH.Address); err == nil {
		t.Errorf("a stopped host still answers its neighbours: %s", out)
	}
	if changes, err := p.Preview(t.Context(), s); err != nil || !slices.Contains(changes, provision.Change{Verb: provision.Start, Kind: "host", Name: h.Name, Detail: h.SSH.Address}) {
		t.Errorf("preview: %v %v", changes, err)
	}
	began = time.Now()
	if _, err := p.Ensure(t.Context(), s, logTo(t)); err != nil {
		t.Fatal(err)
	}
	t.Logf("Ensure of a stopped host took %v", time.Since(began))
	if got := run(t, h, "cat /etc/kept /var/lib/etcd/kept"); got != "kept\nkept" {
		t.Errorf("the disk has %q", got)
	}
	if got := run(t, h, "cat /etc/machine-id /etc/ssh/ssh_host_ed25519_key.pub"); got != id {
		t.Errorf("identity changed from %s to %s", id, got)
	}
	run(t, inv.Hosts[1], "ping -c1 -W1 "+h.SSH.Address)
}

func TestEnsureGoesOnWhateverIsLeft(t *testing.T) {
	p, s := newProvider(t, t.TempDir()), newCluster("e2e-leftover", 1)
	inv := ensure(t, p, s)
	l, err := newLayout(s)
	if err != nil {
		t.Fatal(err)
	}
	h := inv.Hosts[0]
	run(t, h, "echo kept > /etc/kept")
	for name, damage := range map[string]func() error{
		"this machine was booted": func() error { // no process, mount, namespace or runc state is left
			return errors.Join(p.Stop(t.Context(), s, h.Name), p.Stop(t.Context(), s, inv.Hosts[1].Name), removeSwitch(l), os.RemoveAll(p.runtimeDir(l)))
		},
		"runc's state is lost":  func() error { return os.RemoveAll(p.runtimeDir(l)) },
		"the namespace is lost": func() error { return deleteNamespace(l.namespace(h.Name)) },
		"the namespace is a file": func() error {
			return errors.Join(deleteNamespace(l.namespace(h.Name)), os.WriteFile(netnsPath(l.namespace(h.Name)), nil, 0o644))
		},
		"the switch is lost":     func() error { return removeSwitch(l) },
		"all processes are gone": func() error { return killCgroup(t.Context(), cgroupName(l.cluster)) },
		"nothing":                func() error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			if err := damage(); err != nil {
				t.Fatal(err)
			}
			if _, err := p.Ensure(t.Context(), s, logTo(t)); err != nil {
				t.Fatal(err)
			}
			if got := run(t, h, "cat /etc/kept"); got != "kept" {
				t.Errorf("the disk has %q", got)
			}
			run(t, h, "ping -c1 -W1 "+inv.Hosts[1].Name)
		})
	}
}

func TestWithoutRuncNoHostIsTakenForDead(t *testing.T) {
	stateDir := t.TempDir()
	p, s := newProvider(t, stateDir), newCluster("e2e-norunc", 0)
	before := traces(t)
	inv := ensure(t, p, s)
	broken := New(Options{StateDir: stateDir, CacheDir: p.opts.CacheDir, Runc: filepath.Join(stateDir, "none")})
	if _, err := broken.Ensure(t.Context(), s, event.Discard); err == nil {
		t.Error("Ensure went well without runc")
	}
	if _, err := broken.Preview(t.Context(), s); err == nil {
		t.Error("Preview went well without runc")
	}
	run(t, inv.Hosts[0], "true")
	if err := broken.Destroy(t.Context(), s, event.Discard); err != nil {
		t.Error(err)
	}
	before.compare(t, traces(t))
}

func TestScalingMakesAndPrunesHosts(t *testing.T) {
	p, s := newProvider(t, t.TempDir()), newCluster("e2e-scale", 1)
	ensure(t, p, s)
	s.Spec.Workers[0].Replicas = 2
	inv, err := p.Ensure(t.Context(), s, logTo(t))
	if err != nil {
		t.Fatal(err)
	}
	run(t, inv.Hosts[0], "ping -c1 -W2 e2e-scale-default-2")
	s.Spec.Workers[0].Replicas = 1
	if _, err := p.Ensure(t.Context(), s, event.Discard); err != nil {
		t.Fatal(err)
	}
	gone := provision.Change{Verb: provision.Delete, Kind: "host", Name: "e2e-scale-default-2", Detail: "not in the spec"}
	if changes, err := p.Preview(t.Context(), s); err != nil || !slices.Contains(changes, gone) {
		t.Errorf("preview: %v %v", changes, err)
	}
	if err := p.Prune(t.Context(), s, logTo(t)); err != nil {
		t.Fatal(err)
	}
	if changes, err := p.Preview(t.Context(), s); err != nil || slices.Contains(changes, gone) {
		t.Errorf("preview after prune: %v %v", changes, err)
	}
}

func TestClustersAreApart(t *testing.T) {
	before := traces(t)
	p, s := newProvider(t, t.TempDir()), newCluster("e2e-a", 0)
	q, r := newProvider(t, t.TempDir()), newCluster("e2e-b", 0)
	ensure(t, p, s)
	inv := ensure(t, q, r)

	if _, err := q.Ensure(t.Context(), s, event.Discard); err == nil || !strings.Contains(err.Error(), "belongs to the state directory") {
		t.Errorf("a cluster of another state directory: %v", err)
	}
	if err := q.Destroy(t.Context(), s, event.Discard); err == nil {
		t.Error("a cluster of another state directory was destroyed")
	}
	third := newCluster("e2e-c", 0)
	third.Spec.Provider.Local.Subnet = s.Spec.Provider.Local.Subnet
	third3 := newProvider(t, t.TempDir())
	if _, err := third3.Ensure(t.Context(), third, event.Discard); err == nil || !strings.Contains(err.Error(), "overlaps") {
		t.Errorf("a subnet that is taken: %v", err)
	}
	if err := third3.Destroy(t.Context(), third, event.Discard); err != nil {
		t.Error(err)
	}
	if err := p.Destroy(t.Context(), s, event.Discard); err != nil {
		t.Error(err)
	}
	run(t, inv.Hosts[0], "true")
	if err := q.Destroy(t.Context(), r, event.Discard); err != nil {
		t.Error(err)
	}
	before.compare(t, traces(t))
}

// trace is what hosts leave on a machine.
type trace struct{ mounts, netns, links, cgroups, processes, files []string }

func traces(t *testing.T) trace {
	t.Helper()
	var tr trace
	mounts, err := mountinfo.GetMounts(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mounts {
		if strings.Contains(m.Mountpoint, "clusterctl") && strings.Contains(m.Mountpoint, "e2e-") || strings.Contains(m.Mountpoint, netnsDir) {
			tr.mounts = append(tr.mounts, m.Mountpoint)
		}
	}
	tr.netns = glob(t, netnsDir+"/*")
	links, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		tr.links = append(tr.links, l.Name)
	}
	own := map[string]bool{}
	dirs, err := cgroupTree(cgroupName(""))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dirs {
		if strings.Contains(d, "e2e-") {
			own[d] = true
		}
	}
	tr.cgroups = slices.Sorted(maps.Keys(own))
	for _, c := range glob(t, "/proc/[0-9]*/cgroup") {
		data, err := os.ReadFile(c)
		if err == nil && bytes.Contains(data, []byte("/clusterctl/e2e-")) && !isZombie(filepath.Dir(c)) {
			tr.processes = append(tr.processes, c)
		}
	}
	tr.files = slices.Concat(glob(t, dataDir+"/e2e-*"), glob(t, runDir+"/e2e-*"))
	return tr
}

// isZombie says whether a process is dead and only waits for the machine's process 1 to notice.
func isZombie(proc string) bool {
	stat, err := os.ReadFile(filepath.Join(proc, "stat"))
	_, rest, _ := bytes.Cut(stat, []byte(") "))
	return err != nil || bytes.HasPrefix(rest, []byte("Z"))
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return found
}

func (tr trace) compare(t *testing.T, after trace) {
	t.Helper()
	if d := cmp.Diff(tr, after, cmp.AllowUnexported(trace{})); d != "" {
		t.Errorf("left behind:\n%s", d)
	}
}
