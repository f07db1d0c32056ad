//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"clusterctl/provision/event"
	"clusterctl/provision/host"
	"clusterctl/provision/host/sshhost"
	"clusterctl/provision/inventory"
	"clusterctl/provision/local"
	"clusterctl/provision/spec"
)

const (
	// sudoPassword is the password of the login users.
	sudoPassword = "correct horse 'battery' $taple"

	machine1 = "e2e-ssh-cp-1"
	machine2 = "e2e-ssh-default-1"
)

// site is two machines that were there before: whoever logs in is not root, sudo asks for a
// password on the first and not on the second (user ops), or on both (user clerk).
type site struct {
	inv        inventory.Inventory
	root       *host.Pool // for the test's own looking
	keyPath    string     // with a space in it
	knownHosts string
}

// TestSSH takes a cluster on machines that exist already through its life.
func TestSSH(t *testing.T) {
	m := newSite(t)
	before := m.content(t)
	// The machines are new: what an earlier run knew of a cluster on others is worth nothing.
	if err := os.RemoveAll(filepath.Join(shared.work, "e2e-metal")); err != nil {
		t.Fatal(err)
	}
	c := newCluster(t, "e2e-metal", m.spec("e2e-metal", "ops", m.knownHosts), "CLUSTERCTL_SUDO_PASSWORD="+sudoPassword)
	life := []struct {
		name string
		part func(*testing.T, *site, *cluster)
	}{
		{"WrongSudoPasswordStopsBeforeAnythingChanges", wrongSudoPassword},
		{"ChangedHostKeyIsRefused", changedHostKey},
		{"DataOfAnotherEtcdIsNotTouched", foreignEtcd},
		{"UpGoesOnAfterEveryKill", upAfterKills},
		{"UpAgainOverSSHChangesNothing", func(t *testing.T, _ *site, c *cluster) {
			c.cli(t, "up", c.spec, "--yes").exits(t, 0)
			c.cli(t, "plan", c.spec, "--detailed-exitcode").exits(t, 0).says(t, "No changes")
			c.cli(t, "status", c.spec).exits(t, 0).says(t, "No problems.")
		}},
		{"PasswordIsNowhere", passwordIsNowhere},
		{"LostStateIsNotFoundedAnew", lostState},
		{"HostsOfAnotherClusterAreRefused", hostsOfAnother},
	}
	for _, l := range life {
		if !t.Run(l.name, func(t *testing.T) { l.part(t, m, c) }) {
			return
		}
	}
	t.Run("DownLeavesTheMachinesAsTheyWere", func(t *testing.T) {
		c.cli(t, "down", c.spec, "--yes").exits(t, 0)
		if d := differences(before, m.content(t)); d != "" {
			t.Errorf("not as before:\n%s", d)
		}
		if _, err := os.Stat(filepath.Dir(c.stateDir())); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("state is left: %v", err)
		}
	})
}

// newSite makes the machines with the local provider, which the program under test does not see.
func newSite(t *testing.T) *site {
	t.Helper()
	dir := filepath.Join(shared.work, "site")
	if err := os.MkdirAll(filepath.Join(dir, "my keys"), 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "machines.yaml")
	text, err := os.ReadFile("../examples/local.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(replace(t, string(text), "\n  name: local\n", "\n  name: e2e-ssh\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := spec.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	p := local.New(local.Options{StateDir: filepath.Join(dir, "state"), CacheDir: shared.cache, Runc: shared.runc, Log: log})
	t.Cleanup(func() {
		if err := p.Destroy(context.Background(), s, event.Discard); err != nil {
			t.Errorf("the machines are left behind: %v", err)
		}
	})
	// An earlier run that was killed left machines that are not as they were.
	if err := p.Destroy(t.Context(), s, event.Discard); err != nil {
		t.Fatal(err)
	}
	m := &site{keyPath: filepath.Join(dir, "my keys", "login key"), knownHosts: filepath.Join(dir, "known_hosts")}
	if m.inv, err = p.Ensure(t.Context(), s, event.Discard); err != nil {
		t.Fatal(err)
	}
	m.root = host.NewPool(m.inv, sshhost.NewFleet(sshhost.Options{}).Open)
	t.Cleanup(func() { m.root.Close() })
	m.makeUsers(t, makeKey(t, m.keyPath))
	known, err := os.ReadFile(m.inv.Hosts[0].SSH.KnownHostsPath)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(m.knownHosts, known, 0o600); err != nil {
		t.Fatal(err)
	}
	return m
}

// makeKey makes a login key and gives its line for authorized_keys.
func makeKey(t *testing.T, path string) string {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "e2e")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
	key, err := ssh.NewPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	return string(ssh.MarshalAuthorizedKey(key))
}

// makeUsers makes the login users and waits until the machines are up.
func (m *site) makeUsers(t *testing.T, authorized string) {
	t.Helper()
	for i, h := range m.inv.Hosts {
		sudoers := []string{"ops ALL=(ALL) ALL", "ops ALL=(ALL) NOPASSWD: ALL"}[i]
		m.run(t, h.Name, fmt.Sprintf(`systemctl is-system-running --wait || exit 1
printf '%%s\nclerk ALL=(ALL) ALL\n' '%s' >/etc/sudoers.d/login
IFS= read -r password; IFS= read -r key
for u in ops clerk; do
	useradd --create-home --shell /bin/bash $u
	printf '%%s:%%s\n' $u "$password" | chpasswd
	install -d -m 700 -o $u -g $u /home/$u/.ssh
	printf '%%s\n' "$key" >/home/$u/.ssh/authorized_keys
	chown $u: /home/$u/.ssh/authorized_keys
done`, sudoers), sudoPassword+"\n"+authorized)
	}
}

// run runs a script as root, past the program under test.
func (m *site) run(t *testing.T, name, script, stdin string) string {
	t.Helper()
	h, err := m.root.Get(name)
	if err != nil {
		t.Fatal(err)
	}
	res, err := h.Run(t.Context(), host.Cmd{Args: []string{"bash", "-c", script}, Stdin: strings.NewReader(stdin)})
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, res.Stdout)
	}
	return strings.TrimSpace(string(res.Stdout))
}

// spec is a spec of the two machines.
func (m *site) spec(name, user, knownHosts string) string {
	return fmt.Sprintf(`apiVersion: clusterctl/v1alpha1
kind: Cluster
metadata:
  name: %s
spec:
  kubernetes:
    version: %s
    apiServerArgs: {event-ttl: 1h0m0s}
  provider:
    ssh:
      user: %s
      keyPath: %s
      knownHostsPath: %s
  controlPlane:
    hosts:
      - name: %s
        address: %s
        sudoPassword: true
  workers:
    - name: default
      hosts:
        - name: %s
          address: %s
          sudoPassword: %v
`, name, kubernetesVersion, user, m.keyPath, knownHosts, machine1, m.address(machine1), machine2, m.address(machine2), user == "clerk")
}

func (m *site) address(name string) string {
	h, _ := m.inv.Get(name)
	return h.Address.String()
}

// content is what is on the machines: files, units that run, interfaces, rules, mounts.
func (m *site) content(t *testing.T) map[string][]string {
	t.Helper()
	const script = `find /etc /opt /usr /home /root /srv /var/lib /var/tmp /tmp /run/clusterctl* /run/containerd /run/flannel -xdev \
  \( -path /var/lib/systemd -o -path /var/lib/private -o -path /var/lib/sudo -o -path /tmp/systemd-private-\* -o -path /var/tmp/systemd-private-\* \) -prune -o -type d -printf 'd %p\n' -o -printf '%y %m %p\n' 2>/dev/null
systemctl list-units --type=service --state=running,failed --plain --no-legend | cut -d' ' -f1 | grep -v '^user@' | sed 's/^/unit /'
ip -br link | cut -d' ' -f1 | sed 's/^/link /'
nft list ruleset | sed 's/^/rule /'
sed 's/^[^ ]* \([^ ]*\).*/mount \1/' /proc/mounts | grep -v ' /run/user/'
true`
	out := map[string][]string{}
	for _, h := range m.inv.Hosts {
		lines := strings.Split(m.run(t, h.Name, script, ""), "\n")
		slices.Sort(lines)
		out[h.Name] = lines
	}
	return out
}

// unchanged fails the test when a refused command has changed anything.
func (m *site) unchanged(t *testing.T, before map[string][]string) {
	t.Helper()
	if d := differences(before, m.content(t)); d != "" {
		t.Errorf("a refused command changed the machines:\n%s", d)
	}
}

// differences lists what is new (+) and what is gone (-) on each machine, a line each.
func differences(before, after map[string][]string) string {
	var out []string
	for _, name := range []string{machine1, machine2} {
		was, is := map[string]bool{}, map[string]bool{}
		for _, line := range before[name] {
			was[line] = true
		}
		for _, line := range after[name] {
			is[line] = true
			if !was[line] {
				out = append(out, name+" + "+line)
			}
		}
		for _, line := range before[name] {
			if !is[line] {
				out = append(out, name+" - "+line)
			}
		}
	}
	return strings.Join(out, "\n")
}

// variant is another spec of the same machines, in a directory of its own. It must never become
// a cluster.
func variant(t *testing.T, name, text string, env ...string) *cluster {
	t.Helper()
	c := &cluster{name: name, spec: filepath.Join(t.TempDir(), "cluster.yaml"), env: env}
	c.write(t, text)
	return c
}

// noState fails the test when a refused command left keys behind.
func (c *cluster) noState(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(c.stateDir(), "secrets")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a refused command left keys: %v", err)
	}
}

func wrongSudoPassword(t *testing.T, m *site, _ *cluster) {
	before := m.content(t)
	for _, env := range []string{"CLUSTERCTL_SUDO_PASSWORD=wrong", "CLUSTERCTL_SUDO_PASSWORD="} {
		v := variant(t, "e2e-metal", m.spec("e2e-metal", "clerk", m.knownHosts), env)
		v.cli(t, "up", v.spec, "--yes").exits(t, 4).says(t, machine1, machine2, "privilege", "CLUSTERCTL_SUDO_PASSWORD")
		v.noState(t)
	}
	m.unchanged(t, before)
}

func changedHostKey(t *testing.T, m *site, _ *cluster) {
	before := m.content(t)
	shown, _, _, _, err := ssh.ParseAuthorizedKey([]byte(m.run(t, machine1, "cat /etc/ssh/ssh_host_ed25519_key.pub", "")))
	if err != nil {
		t.Fatal(err)
	}
	former, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	known, err := ssh.NewPublicKey(former)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "known_hosts")
	text, err := os.ReadFile(m.knownHosts)
	if err != nil {
		t.Fatal(err)
	}
	lines := []string{knownhosts.Line([]string{m.address(machine1)}, known)}
	for line := range strings.Lines(string(text)) {
		if !strings.Contains(line, machine1) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	content := []byte(strings.Join(lines, "\n") + "\n")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	v := variant(t, "e2e-metal", m.spec("e2e-metal", "ops", file), "CLUSTERCTL_SUDO_PASSWORD="+sudoPassword)
	r := v.cli(t, "up", v.spec, "--yes").exits(t, 4).says(t, ssh.FingerprintSHA256(shown), ssh.FingerprintSHA256(known), file+":1")
	if r.took > 5*time.Second {
		t.Errorf("a wrong host key was tried for %v", r.took)
	}
	if after, err := os.ReadFile(file); err != nil || !bytes.Equal(after, content) {
		t.Errorf("known_hosts was changed: %v", err)
	}
	v.noState(t)
	m.unchanged(t, before)
}

func foreignEtcd(t *testing.T, m *site, c *cluster) {
	m.run(t, machine1, "mkdir -p /var/lib/etcd/member/wal /var/lib/etcd/member/snap && echo precious >/var/lib/etcd/member/snap/db", "")
	before := m.content(t)
	c.cli(t, "up", c.spec, "--yes").exits(t, 1).says(t, machine1, "/var/lib/etcd", "not touched")
	m.unchanged(t, before)
	if got := m.run(t, machine1, "cat /var/lib/etcd/member/snap/db", ""); got != "precious" {
		t.Errorf("the other cluster's data is %q", got)
	}
	m.run(t, machine1, "rm -r /var/lib/etcd/member", "")
}

// upAfterKills kills up a few times on the way.
func upAfterKills(t *testing.T, m *site, c *cluster) {
	c.upWithKills(t, 4)
	eventually(t, time.Minute, "both nodes are Ready", func(ctx context.Context) error {
		return c.nodesReady(ctx, c.client(t), machine1, machine2)
	})
	if got := m.run(t, machine1, "find / -xdev -name '.*clusterctl*' -o -xdev -name '*.clusterctl-new' | grep -v ^/proc || true", ""); got != "" {
		t.Errorf("left over of what was cut off: %s", got)
	}
}

func passwordIsNowhere(t *testing.T, m *site, c *cluster) {
	for _, file := range []string{commandLog(), filepath.Join(c.stateDir(), "journal.jsonl"), filepath.Join(c.stateDir(), "inventory.json")} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte(sudoPassword)) {
			t.Errorf("%s holds the sudo password", file)
		}
	}
	for _, name := range []string{machine1, machine2} {
		got := m.run(t, name, "umask 077; cat >/run/canary; { journalctl --boot --no-pager; cat /proc/[0-9]*/cmdline | tr '\\0' '\\n'; } 2>/dev/null | grep -cF -f /run/canary; rm /run/canary", sudoPassword)
		if got != "0" {
			t.Errorf("%s: the sudo password is in %s lines of the journal or of processes' arguments", name, got)
		}
	}
}

// lostState moves the state away: the hosts must not become a new cluster.
func lostState(t *testing.T, m *site, c *cluster) {
	id, _, err := c.state().Identity()
	if err != nil {
		t.Fatal(err)
	}
	away := c.stateDir() + ".away"
	if err := os.Rename(c.stateDir(), away); err != nil {
		t.Fatal(err)
	}
	before := m.content(t)
	c.cli(t, "up", c.spec, "--yes").exits(t, 1).says(t, id.ClusterUID, "state is missing", machine1, machine2)
	c.noState(t)
	m.unchanged(t, before)
	if err := errors.Join(os.RemoveAll(c.stateDir()), os.Rename(away, c.stateDir())); err != nil {
		t.Fatal(err)
	}
	c.cli(t, "plan", c.spec, "--detailed-exitcode").exits(t, 0)
}

// hostsOfAnother is a fresh spec that names machines of a cluster that runs.
func hostsOfAnother(t *testing.T, m *site, c *cluster) {
	id, _, err := c.state().Identity()
	if err != nil {
		t.Fatal(err)
	}
	before := m.content(t)
	v := variant(t, "e2e-other", m.spec("e2e-other", "ops", m.knownHosts), c.env...)
	v.cli(t, "up", v.spec, "--yes").exits(t, 1).says(t, "belongs to another cluster", c.name, id.ClusterUID, id.EtcdClusterID, machine1, machine2)
	v.noState(t)
	m.unchanged(t, before)
	c.cli(t, "status", c.spec).exits(t, 0)
}
