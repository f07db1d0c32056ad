//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"clusterctl/components"
	"clusterctl/components/bundle"
	"clusterctl/phases"
	"clusterctl/phases/state"
	"clusterctl/pki"
	"clusterctl/provision/host"
	"clusterctl/provision/host/sshhost"
	"clusterctl/provision/inventory"
	"clusterctl/provision/spec"
)

// cluster is a spec file with the cluster that came of it.
type cluster struct {
	name string
	spec string // path
	env  []string

	opening sync.Mutex
	hosts   *host.Pool // opened by host
}

// newCluster writes a spec file into a directory of its own. What an earlier run left of the
// same cluster is taken down first, and this one at the end of the test, whatever happens.
func newCluster(t *testing.T, name, text string, env ...string) *cluster {
	t.Helper()
	c := &cluster{name: name, spec: filepath.Join(shared.work, name, "cluster.yaml"), env: env}
	if c.left() {
		t.Logf("an earlier run left cluster %s behind", name)
		c.cli(t, "down", c.spec, "--yes").exits(t, 0)
	}
	c.write(t, text)
	t.Cleanup(func() { c.end(t) })
	return c
}

// end collects what explains a failure and removes the cluster.
func (c *cluster) end(t *testing.T) {
	if t.Failed() {
		c.collect(t)
	}
	if c.hosts != nil {
		c.hosts.Close()
	}
	if c.left() {
		if r := c.cli(t, "down", c.spec, "--yes"); r.code != 0 {
			t.Errorf("cluster %s is left behind: %s", c.name, r.stderr)
			return
		}
	}
	if !t.Failed() {
		if err := os.RemoveAll(filepath.Dir(c.spec)); err != nil {
			t.Error(err)
		}
	}
}

// left tells whether there is anything to take down: state, or hosts of this machine.
func (c *cluster) left() bool {
	for _, path := range []string{c.stateDir(), filepath.Join("/var/lib/clusterctl/local", c.name)} {
		if _, err := os.Stat(path); err == nil {
			return true
		}
	}
	return false
}

// write replaces the spec file.
func (c *cluster) write(t *testing.T, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(c.spec), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(c.spec, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// edit replaces a part of the spec file.
func (c *cluster) edit(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(c.spec)
	if err != nil {
		t.Fatal(err)
	}
	c.write(t, replace(t, string(text), from, to))
}

// replace is strings.Replace of something that must be there once.
func replace(t *testing.T, text, from, to string) string {
	t.Helper()
	if n := strings.Count(text, from); n != 1 {
		t.Fatalf("%q is in the text %d times, want once:\n%s", from, n, text)
	}
	return strings.Replace(text, from, to, 1)
}

// cli runs the program under test in the cluster's environment.
func (c *cluster) cli(t *testing.T, args ...string) result {
	t.Helper()
	return command{args: args, env: c.env}.run(t)
}

// kubectl runs the bundle's kubectl as the administrator and gives what it printed.
func (c *cluster) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	return c.cli(t, append([]string{"kubectl", c.spec, "--"}, args...)...).exits(t, 0).stdout
}

// stateDir is where the program keeps what it knows of the cluster.
func (c *cluster) stateDir() string { return c.state().Path() }

func (c *cluster) state() *state.Dir { return state.Open(c.spec, c.name) }

// inventory reads the hosts from the state.
func (c *cluster) inventory(t *testing.T) inventory.Inventory {
	t.Helper()
	inv, found, err := c.state().Inventory()
	if err != nil || !found {
		t.Fatalf("inventory of cluster %s: found %v, %v", c.name, found, err)
	}
	return inv
}

// secrets reads the cluster's keys from the state.
func (c *cluster) secrets(t *testing.T) *pki.Secrets {
	t.Helper()
	s, found, err := c.state().Secrets()
	if err != nil || !found {
		t.Fatalf("secrets of cluster %s: found %v, %v", c.name, found, err)
	}
	return s
}

// node is what the components' configuration of a host is made from.
func (c *cluster) node(t *testing.T, name string) components.Node {
	t.Helper()
	s, err := spec.Load(c.spec)
	if err != nil {
		t.Fatal(err)
	}
	b, err := bundle.Open(filepath.Join(shared.cache, "bundles"), kubernetesVersion, "linux", "amd64")
	if err != nil {
		t.Fatal(err)
	}
	inv := c.inventory(t)
	p, err := phases.Prepare(phases.Sources{Spec: s, Inventory: inv, State: c.state(), Bundle: b, Now: time.Now(), Rand: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	h, ok := inv.Get(name)
	if !ok {
		t.Fatalf("no host %s in %v", name, inv.Names())
	}
	return p.Cluster.Node(h)
}

// host gives a host to run commands on. Connections are kept until the end, or until a host is
// asked for that came later.
func (c *cluster) host(name string) host.Host {
	c.opening.Lock()
	defer c.opening.Unlock()
	if c.hosts != nil {
		if h, err := c.hosts.Get(name); err == nil {
			return h
		}
		c.hosts.Close()
	}
	inv, _, err := c.state().Inventory()
	if err != nil {
		panic(err) // the state directory cannot be read: nothing can go on
	}
	password := func(string) (string, error) { return sudoPassword, nil }
	c.hosts = host.NewPool(inv, sshhost.NewFleet(sshhost.Options{SudoPassword: password}).Open)
	h, err := c.hosts.Get(name)
	if err != nil {
		panic(err) // a name that the test has wrong
	}
	return h
}

// try runs a shell script on a host as root.
func (c *cluster) try(ctx context.Context, name, script string) (string, error) {
	res, err := c.host(name).Run(ctx, host.Cmd{Args: []string{"sh", "-c", script}, Root: true})
	return strings.TrimSpace(string(res.Stdout)), err
}

// sh is try for a script that must go well.
func (c *cluster) sh(t *testing.T, name, script string) string {
	t.Helper()
	out, err := c.try(t.Context(), name, script)
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return out
}

// feed is sh with text on standard input: for what must not be in a process's arguments.
func (c *cluster) feed(t *testing.T, name, script, stdin string) string {
	t.Helper()
	res, err := c.host(name).Run(t.Context(), host.Cmd{Args: []string{"sh", "-c", script}, Root: true, Stdin: strings.NewReader(stdin)})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return strings.TrimSpace(string(res.Stdout))
}

// client talks to the API as the administrator's kubeconfig says.
func (c *cluster) client(t *testing.T) kubernetes.Interface {
	t.Helper()
	cfg, err := clientcmd.BuildConfigFromFlags("", filepath.Join(c.stateDir(), "admin.kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	api, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return api
}

// nodesReady is nil when all of the hosts are Ready nodes of the version; no names: all hosts.
func (c *cluster) nodesReady(ctx context.Context, api kubernetes.Interface, names ...string) error {
	list, err := api.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	ready := map[string]error{}
	for _, n := range list.Items {
		ready[n.Name] = nodeReady(n)
	}
	var errs []error
	for _, name := range names {
		err, there := ready[name]
		if !there {
			err = errors.New("no such node")
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

func nodeReady(n corev1.Node) error {
	if v := n.Status.NodeInfo.KubeletVersion; v != kubernetesVersion {
		return fmt.Errorf("runs %s", v)
	}
	for _, cond := range n.Status.Conditions {
		if cond.Type == corev1.NodeReady && cond.Status != corev1.ConditionTrue {
			return fmt.Errorf("Ready is %s: %s", cond.Status, cond.Message)
		}
	}
	return nil
}

// collect keeps what explains a failure: journals and units of all hosts that answer.
func (c *cluster) collect(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	inv, found, err := c.state().Inventory()
	if err != nil || !found {
		t.Logf("nothing to collect of cluster %s: %v", c.name, err)
		return
	}
	dir := filepath.Join(shared.failures, c.name)
	for file, script := range map[string]string{
		"journal": "journalctl --boot --no-pager --output short-precise",
		"units":   "systemctl list-units --all --no-pager; systemctl --failed --no-pager",
		"network": "ip -br address; ip route; ss -tlnp; cat /etc/resolv.conf",
		"pods":    "crictl ps -a; crictl pods",
	} {
		err := host.ForEach(ctx, len(inv.Hosts), inv.Hosts, func(ctx context.Context, h inventory.Host) error {
			out, err := c.try(ctx, h.Name, script)
			if err != nil {
				out += "\n" + err.Error() + "\n"
			}
			return keep(filepath.Join(dir, h.Name, file+".txt"), []byte(out))
		})
		if err != nil {
			t.Log(err)
		}
	}
	if data, err := os.ReadFile(commandLog()); err == nil {
		if err := keep(filepath.Join(dir, "commands.log"), bytes.Clone(data)); err != nil {
			t.Log(err)
		}
	}
	t.Logf("journals and units are in %s", dir)
}

func keep(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}
