//go:build e2e

package cloud

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"clusterctl/provision"
	"clusterctl/provision/cloud/aws"
	"clusterctl/provision/cloud/engine"
	"clusterctl/provision/cloud/layout"
	"clusterctl/provision/cloud/standin"
	"clusterctl/provision/event"
	"clusterctl/provision/host/hosttest"
	"clusterctl/provision/host/sshhost"
	"clusterctl/provision/spec"
)

// TestMain is also the stand-in for the cloud's plugin: the engine runs this program under its name.
func TestMain(m *testing.M) {
	standin.Main()
	os.Exit(m.Run())
}

// bench is a cluster with the real engine in a cloud that a directory stands in for. Its hosts
// have addresses only; an SSH server of this process answers for all of them.
type bench struct {
	*Provider
	t     *testing.T
	of    cloudCase
	world *standin.World
	dir   string
}

func newBench(t *testing.T, of cloudCase) *bench {
	t.Helper()
	cache := os.Getenv("CLUSTERCTL_CACHE")
	if cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		cache = filepath.Join(dir, "clusterctl")
	}
	cli := filepath.Join(cache, "pulumi", "bin", "pulumi")
	if _, err := os.Stat(cli); err != nil {
		t.Fatalf("%v; run: make pulumi", err)
	}
	b := &bench{t: t, of: of, dir: t.TempDir(), world: &standin.World{Dir: t.TempDir()}}
	home := filepath.Join(b.dir, "cache", "pulumi")
	if err := errors.Join(os.MkdirAll(filepath.Join(home, "bin"), 0o700), os.Symlink(cli, filepath.Join(home, "bin", "pulumi"))); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := standin.Install(self, home, of.pkg, of.version); err != nil {
		t.Fatal(err)
	}
	server := hosttest.NewServer(t, hosttest.ServerOptions{Exec: func(s hosttest.Session) int { s.Begin(); return 0 }})
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, server.Addr().String())
	}
	b.Provider = New(Options{
		StateDir: filepath.Join(b.dir, "state"), CacheDir: filepath.Join(b.dir, "cache"), SSH: sshhost.Options{Dial: dial, Home: b.dir},
		Env: []string{standin.DirVariable + "=" + b.world.Dir, standin.FieldsVariable + "=" + of.fieldsFile(t), "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION=true"},
	})
	return b
}

// cluster is a small spec; more goes below the provider's settings.
func (b *bench) cluster(controlPlanes, workers int, more string) *spec.Cluster {
	b.t.Helper()
	s, err := spec.Parse(filepath.Join(b.dir, "dev.yaml"), []byte(fmt.Sprintf(`apiVersion: clusterctl/v1alpha1
kind: Cluster
metadata: {name: dev}
spec:
  kubernetes: {version: v1.37.2}
  provider:
    %s:
      user: root%s
      %s
  controlPlane: {replicas: %d}
  workers: [{name: web, replicas: %d}]
`, b.of.pkg, b.of.settings, more, controlPlanes, workers)))
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

func (b *bench) ensure(s *spec.Cluster) {
	b.t.Helper()
	if _, err := b.Ensure(b.t.Context(), s, event.Discard); err != nil {
		b.t.Fatal(err)
	}
}

// changes are the lines of a preview that are not "keep".
func (b *bench) changes(s *spec.Cluster) []string {
	b.t.Helper()
	all, err := b.Preview(b.t.Context(), s)
	if err != nil {
		b.t.Fatal(err)
	}
	var out []string
	for _, c := range all {
		if c.Verb != provision.Keep {
			out = append(out, strings.TrimSpace(c.Verb+" "+c.Kind+" "+c.Name+" "+c.Detail))
		}
	}
	return out
}

// machines are the names of the machines in the cloud, sorted.
func (b *bench) machines() []string {
	b.t.Helper()
	things, err := b.world.Things()
	if err != nil {
		b.t.Fatal(err)
	}
	var out []string
	for _, t := range things {
		if t.Type == b.of.machine {
			out = append(out, t.Name)
		}
	}
	slices.Sort(out)
	return out
}

func (b *bench) wantMachines(want ...string) {
	b.t.Helper()
	if got := b.machines(); !slices.Equal(got, want) {
		b.t.Fatalf("the cloud has the machines %v, want %v", got, want)
	}
}

func (b *bench) faults(f map[string]standin.Fault) {
	b.t.Helper()
	if err := b.world.SetFaults(f); err != nil {
		b.t.Fatal(err)
	}
}

// started waits until the cloud was asked for something by a run that says on done when it ends.
func (b *bench) started(call string, done <-chan error) {
	b.t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); {
		calls, err := b.world.Calls()
		if err != nil {
			b.t.Fatal(err)
		}
		if slices.Contains(calls, call) {
			return
		}
		select {
		case err := <-done:
			b.t.Fatalf("the run ended before the cloud was asked for %s: %v", call, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
	b.t.Fatalf("the cloud was not asked for: %s", call)
}

// release lets slow calls go on.
func (b *bench) release() {
	b.t.Helper()
	if err := os.WriteFile(filepath.Join(b.world.Dir, "go"), nil, 0o600); err != nil {
		b.t.Fatal(err)
	}
}

func TestLifeOfACluster(t *testing.T) {
	for _, of := range []cloudCase{awsCase(), gcpCase(), vsphereCase()} {
		t.Run(of.pkg, func(t *testing.T) { newBench(t, of).lives(t) })
	}
}

func (b *bench) lives(t *testing.T) {
	one := b.cluster(1, 1, "")

	// A plan of what does not exist makes nothing, here or there.
	if plan := b.changes(one); !slices.Contains(plan, "create host dev-cp-1 "+b.of.addresses[0]) || b.of.endpoint != slices.Contains(plan, "create load balancer dev-api") {
		t.Errorf("first plan: %q", plan)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "state")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the plan left a state: %v", err)
	}
	b.wantMachines()

	b.ensure(one)
	b.wantMachines("dev-cp-1", "dev-web-1")
	if plan := b.changes(one); len(plan) > 0 {
		t.Errorf("plan after up: %q", plan)
	}
	if b.of.endpoint != (b.Endpoint() != "") {
		t.Errorf("endpoint %q", b.Endpoint())
	}

	t.Run("a newer image is for new clusters", func(t *testing.T) { b.scales(t) })
	t.Run("hosts are not replaced", func(t *testing.T) { b.refuses(t) })
	t.Run("one host is made anew", func(t *testing.T) { b.discards(t) })
	t.Run("hosts go when they are pruned", func(t *testing.T) { b.prunes(t) })
	t.Run("secrets stay here", func(t *testing.T) { b.keepsSecrets(t) })
	if b.of.pkg == "aws" { // the other clouds give each name once
		t.Run("what nobody would delete is named", func(t *testing.T) { b.names(t, one) })
	}

	if err := b.Destroy(t.Context(), one, event.Discard); err != nil {
		t.Fatal(err)
	}
	if things, err := b.world.Things(); err != nil || len(things) > 0 {
		t.Errorf("left in the cloud: %v %v", things, err)
	}
	if err := b.Destroy(t.Context(), one, event.Discard); err != nil {
		t.Errorf("again: %v", err)
	}
}

// names has the cloud hold a network that a plugin made before it died, and a load balancer that the
// cloud controller left.
func (b *bench) names(t *testing.T, s *spec.Cluster) {
	stray, err := b.world.Make("aws:ec2/vpc:Vpc", "dev", map[string]any{"tags": map[string]any{"clusterctl/cluster": "dev"}})
	if err != nil {
		t.Fatal(err)
	}
	balancer, err := b.world.Make("aws:elb/loadBalancer:LoadBalancer", "a0", map[string]any{"name": "a0", "tags": map[string]any{"kubernetes.io/cluster/dev": "owned"}})
	if err != nil {
		t.Fatal(err)
	}
	left, ok := errors.AsType[*LeftError](b.Destroy(t.Context(), s, event.Discard))
	if want := []string{"load balancer a0", "network " + stray.ID + " (made by clusterctl, and not in its state)"}; !ok || !slices.Equal(left.Left, want) {
		t.Errorf("left: %v, want %q", left, want)
	}
	b.wantMachines("dev-cp-1", "dev-web-1")
	if err := errors.Join(b.world.Delete(stray.ID), b.world.Delete(balancer.ID)); err != nil {
		t.Fatal(err)
	}
}

// scales: case 36. A newer image is there; a worker more is a worker more, from the cluster's image.
func (b *bench) scales(t *testing.T) {
	two := b.cluster(1, 2, "")
	if err := os.WriteFile(filepath.Join(b.world.Dir, "newest-image"), []byte(b.of.newest), 0o600); err != nil {
		t.Fatal(err)
	}
	if plan := b.changes(two); !slices.Equal(plan, []string{"create host dev-web-2 " + b.of.addresses[2]}) {
		t.Errorf("plan of a worker more: %q", plan)
	}
	b.ensure(two)
	things, err := b.world.Things()
	if err != nil {
		t.Fatal(err)
	}
	for _, th := range things {
		if th.Type == b.of.machine && b.of.image(th.Inputs) != b.of.first {
			t.Errorf("%s has image %v", th.Name, b.of.image(th.Inputs))
		}
	}
}

func (b *bench) refuses(t *testing.T) {
	before, err := b.world.Calls()
	if err != nil {
		t.Fatal(err)
	}
	for more, want := range b.of.refused {
		_, err := b.Ensure(t.Context(), b.cluster(1, 2, more), event.Discard)
		if _, ok := errors.AsType[*RefusedError](err); !ok || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	after, err := b.world.Calls()
	if err != nil {
		t.Fatal(err)
	}
	for _, call := range after[len(before):] {
		if !strings.HasPrefix(call, "invoke") {
			t.Errorf("changed all the same: %s", call)
		}
	}
}

// discards makes the control plane anew: it is protected, and only what is its own goes.
func (b *bench) discards(t *testing.T) {
	two, before := b.cluster(1, 2, ""), b.ids()
	if err := b.Discard(t.Context(), two, "dev-cp-1", event.Discard); err != nil {
		t.Fatal(err)
	}
	b.wantMachines("dev-web-1", "dev-web-2")
	b.ensure(two)
	b.wantMachines("dev-cp-1", "dev-web-1", "dev-web-2")
	after := b.ids()
	for name, id := range before {
		if (after[name] == id) == (name == "dev-cp-1") {
			t.Errorf("%s was %s and is %s", name, id, after[name])
		}
	}
	if plan := b.changes(two); len(plan) > 0 {
		t.Errorf("plan after that: %q", plan)
	}
	state, err := b.engine(two).State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if i := slices.IndexFunc(state.Things, func(th engine.Thing) bool { return th.Type == b.of.machine && th.Name == "dev-cp-1" }); i < 0 || !state.Things[i].Protected {
		t.Error("the new control plane is not protected")
	}
}

// ids are the machines in the cloud, by name.
func (b *bench) ids() map[string]string {
	b.t.Helper()
	things, err := b.world.Things()
	if err != nil {
		b.t.Fatal(err)
	}
	out := map[string]string{}
	for _, th := range things {
		if th.Type == b.of.machine {
			out[th.Name] = th.ID
		}
	}
	return out
}

func (b *bench) prunes(t *testing.T) {
	one := b.cluster(1, 1, "")
	if plan := b.changes(one); !slices.Contains(plan, "delete host dev-web-2 not in the spec") || len(plan) != 1 {
		t.Errorf("plan of a worker less: %q", plan)
	}
	b.ensure(one)
	b.wantMachines("dev-cp-1", "dev-web-1", "dev-web-2")
	if err := b.Prune(t.Context(), one, event.Discard); err != nil {
		t.Fatal(err)
	}
	b.wantMachines("dev-cp-1", "dev-web-1")
}

// keepsSecrets: case 34. The login key is nowhere but in its file, the state is for nobody else.
func (b *bench) keepsSecrets(t *testing.T) {
	key, err := os.ReadFile(filepath.Join(b.sshDir(), "id_ed25519"))
	if err != nil {
		t.Fatal(err)
	}
	canary := bytes.Split(bytes.TrimSpace(key), []byte("\n"))[2] // of the key's body
	for _, root := range []string{filepath.Join(b.dir, "state", "pulumi"), b.world.Dir} {
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			if data, err := os.ReadFile(path); err != nil || bytes.Contains(data, canary) {
				t.Errorf("%s holds the private key: %v", path, err)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	for path, want := range map[string]fs.FileMode{"pulumi": 0o700, "pulumi/state": 0o700, "pulumi/passphrase": 0o600, "ssh": 0o700, "ssh/id_ed25519": 0o600, "ssh/known_hosts": 0o600} {
		if info, err := os.Stat(filepath.Join(b.dir, "state", path)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v %v", path, info.Mode(), err)
		}
	}
}

func TestFaultInTheMiddleAndOnAgain(t *testing.T) {
	b := newBench(t, awsCase())
	s := b.cluster(1, 2, "")
	b.faults(map[string]standin.Fault{"create dev-web-2": standin.Fail})
	_, err := b.Ensure(t.Context(), s, event.Discard)
	if err == nil || !strings.Contains(err.Error(), "dev-web-2: ") || !strings.Contains(err.Error(), "InsufficientInstanceCapacity") || strings.Count(err.Error(), "\n") > 3 {
		t.Fatalf("got %v", err)
	}
	b.wantMachines("dev-cp-1", "dev-web-1")

	b.faults(map[string]standin.Fault{"create dev-web-2": standin.Denied})
	_, err = b.Ensure(t.Context(), s, event.Discard)
	if denied, ok := errors.AsType[*engine.CredentialsError](err); !ok || denied.ExitCode() != 4 {
		t.Errorf("credentials that ran out: %v", err)
	}

	b.faults(nil)
	plan := b.changes(s)
	slices.Sort(plan)
	if !slices.Equal(plan, []string{"create host dev-web-2 10.0.4.3", "start host dev-cp-1 10.0.4.1, never logged in to", "start host dev-web-1 10.0.4.2, never logged in to"}) {
		t.Errorf("plan after the fault: %q", plan)
	}
	b.ensure(s)
	b.wantMachines("dev-cp-1", "dev-web-1", "dev-web-2")
}

// Case 33.
func TestMachineWhoseAnswerWasLostIsAdopted(t *testing.T) {
	b := newBench(t, awsCase())
	s := b.cluster(1, 1, "")
	b.faults(map[string]standin.Fault{"create dev-web-1": standin.Orphan})
	if _, err := b.Ensure(t.Context(), s, event.Discard); err == nil {
		t.Fatal("the plugin died and nobody minded")
	}
	b.faults(nil)
	if got := b.machines(); !slices.Contains(got, "dev-web-1") {
		t.Fatalf("the cloud has %v, want dev-web-1 among them", got)
	}
	if plan := b.changes(s); !slices.Contains(plan, "adopt host dev-web-1") {
		t.Errorf("plan: %q", plan)
	}
	b.ensure(s)
	b.wantMachines("dev-cp-1", "dev-web-1")
	if plan := b.changes(s); len(plan) > 0 {
		t.Errorf("plan after that: %q", plan)
	}
}

// Case 33: the engine is killed while a machine is being made.
func TestKilledEngine(t *testing.T) {
	b := newBench(t, awsCase())
	s := b.cluster(1, 1, "")
	b.faults(map[string]standin.Fault{"create dev-web-1": standin.Slow})
	done := make(chan error)
	go func() { _, err := b.Ensure(context.WithoutCancel(t.Context()), s, event.Discard); done <- err }()
	b.started("create "+aws.MachineType+" dev-web-1", done)

	// Two at once: the second is refused while the first lives.
	_, err := b.Ensure(t.Context(), s, event.Discard)
	if locked, ok := errors.AsType[*engine.LockedError](err); !ok || locked.ExitCode() != 5 {
		t.Errorf("a second run: %v", err)
	}

	kill(t, b.lockOwner())
	if err := <-done; err == nil {
		t.Error("the engine was killed and nobody minded")
	}
	b.release() // the plugin lives on, and the cloud makes the machine
	b.faults(nil)
	b.waitFor("dev-web-1")

	var warned []string
	_, err = b.Ensure(t.Context(), s, event.Func(func(e event.Event) {
		if e.Kind == event.Warning {
			warned = append(warned, e.Text)
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
	b.wantMachines("dev-cp-1", "dev-web-1")
	if !slices.ContainsFunc(warned, func(w string) bool { return strings.Contains(w, "dev-web-1") }) {
		t.Errorf("nobody was told of the machine in doubt: %q", warned)
	}
}

// waitFor waits until the cloud has a machine.
func (b *bench) waitFor(name string) {
	b.t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); {
		if slices.Contains(b.machines(), name) {
			return
		}
		<-time.After(20 * time.Millisecond)
	}
	b.t.Fatalf("%s never came", name)
}

// lockOwner is the process that holds the engine's lock.
func (b *bench) lockOwner() int {
	b.t.Helper()
	owners, err := b.engine(b.cluster(1, 1, "")).Owners(b.t.Context())
	if err != nil || len(owners) != 1 {
		b.t.Fatalf("the engine's lock has the owners %v, error %v", owners, err)
	}
	return owners[0].PID
}

func kill(t *testing.T, pid int) {
	t.Helper()
	name, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "comm"))
	if err != nil || strings.TrimSpace(string(name)) != "pulumi" {
		t.Fatalf("process %d is %q, not the engine: %v", pid, name, err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// TestInterruptLetsTheMachineInFlightFinish: Ctrl-C.
func TestInterruptLetsTheMachineInFlightFinish(t *testing.T) {
	b := newBench(t, awsCase())
	s := b.cluster(1, 1, "")
	b.faults(map[string]standin.Fault{"create dev-web-1": standin.Slow})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { _, err := b.Ensure(ctx, s, event.Discard); done <- err }()
	b.started("create "+aws.MachineType+" dev-web-1", done)
	cancel()
	b.release()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	state, err := b.engine(s).State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(state.Pending) > 0 || !slices.ContainsFunc(state.Things, func(th engine.Thing) bool { return th.Name == "dev-web-1" && th.Type == aws.MachineType }) {
		t.Errorf("pending %v; the machine in flight is not in the state", state.Pending)
	}
	b.faults(nil)
	b.ensure(s)
	b.wantMachines("dev-cp-1", "dev-web-1")
}

// Case 33: what is wrong with the state is said, and never leads to a second cluster.
func TestStateThatCannotBeTrusted(t *testing.T) {
	b := newBench(t, awsCase())
	s := b.cluster(1, 1, "")
	b.ensure(s)
	before := b.machines()
	path := filepath.Join(b.dir, "state", "pulumi", "passphrase")
	right, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func() error{
		"wrong": func() error { return os.WriteFile(path, []byte("wrong"), 0o600) },
		"empty": func() error { return os.WriteFile(path, nil, 0o600) },
		"gone":  func() error { return os.Remove(path) },
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		for verb, run := range map[string]func() error{
			"plan": func() error { _, err := b.Preview(t.Context(), s); return err },
			"up":   func() error { _, err := b.Ensure(t.Context(), b.cluster(1, 2, ""), event.Discard); return err },
			"down": func() error { return b.Destroy(t.Context(), s, event.Discard) },
		} {
			if _, ok := errors.AsType[*engine.PassphraseError](run()); !ok {
				t.Errorf("%s passphrase, %s: not refused", name, verb)
			}
		}
	}
	b.wantMachines(before...)
	if err := os.WriteFile(path, right, 0o600); err != nil {
		t.Fatal(err)
	}
	if plan := b.changes(s); len(plan) > 0 {
		t.Errorf("plan with the right passphrase again: %q", plan)
	}

	if err := os.RemoveAll(filepath.Join(b.dir, "state", "pulumi")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		_, err = b.Ensure(t.Context(), s, event.Discard)
		if lost, ok := errors.AsType[*layout.StrangersError](err); !ok || len(lost.IDs) != len(before) || lost.ExitCode() != 3 {
			t.Errorf("machines without a state: %v", err)
		}
	}
	b.wantMachines(before...)
}
