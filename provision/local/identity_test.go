package local

import (
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestResolvConfLeavesOutWhatOnlyTheMachineReaches(t *testing.T) {
	gateway := netip.MustParseAddr("10.89.7.1")
	for name, c := range map[string]struct{ in, want string }{
		"own stub only": {"nameserver 127.0.0.53\noptions edns0\n", "nameserver 10.89.7.1\n"},
		"two servers":   {"# x\nsearch a.b\nnameserver 10.0.0.2\nnameserver ::1\nnameserver fd00::2\n", "nameserver 10.0.0.2\nnameserver fd00::2\n"},
		"broken":        {"nameserver\nnameserver x\n", "nameserver 10.89.7.1\n"},
		"empty":         {"", "nameserver 10.89.7.1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := string(resolvConf(nameservers([]byte(c.in)), gateway)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestAddLinesKeepsWhatOthersWrote(t *testing.T) {
	have := []byte("10.0.0.1 other\n10.89.7.11 dev-cp-1")
	want := "10.0.0.1 other\n10.89.7.11 dev-cp-1\n10.89.7.12 dev-cp-2\n"
	lines := []string{"10.89.7.11 dev-cp-1", "10.89.7.12 dev-cp-2"}
	got := addLines(have, lines)
	if string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if again := addLines(got, lines); string(again) != want {
		t.Errorf("a second time gives %q", again)
	}
}

func TestIdentityIsWrittenOnceAndStaysInsideTheHost(t *testing.T) {
	dir := t.TempDir()
	rootfs := filepath.Join(dir, "rootfs")
	if err := os.MkdirAll(filepath.Join(rootfs, "etc"), 0o755); err != nil {
		t.Fatal(err)
	}
	p := New(Options{StateDir: filepath.Join(dir, "state")})
	l, err := newLayout(example())
	if err != nil {
		t.Fatal(err)
	}
	k, err := p.ensureKeys(l.hosts)
	if err != nil {
		t.Fatal(err)
	}
	h := l.hosts.Hosts[0]
	if err := writeIdentity(rootfs, l, h, k); err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(rootfs, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	id := read("etc/machine-id")
	if !regexp.MustCompile(`^[0-9a-f]{32}\n$`).MatchString(id) {
		t.Errorf("machine-id is %q", id)
	}
	if !strings.Contains(read("etc/hosts"), "10.89.7.41 dev-big-1\n") {
		t.Error("a neighbour is missing in /etc/hosts")
	}
	if info, err := os.Stat(filepath.Join(rootfs, "etc/ssh/ssh_host_ed25519_key")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("host key: %v %v", info.Mode(), err)
	}

	// What the cluster changed stays, and a link out of the host is not followed.
	outside := filepath.Join(dir, "outside")
	for _, err := range []error{
		os.WriteFile(filepath.Join(rootfs, "etc/resolv.conf"), []byte("changed"), 0o644),
		os.Remove(filepath.Join(rootfs, "etc/hosts")),
		os.Symlink(outside, filepath.Join(rootfs, "etc/hosts")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	err = writeIdentity(rootfs, l, h, k)
	if _, statErr := os.Stat(outside); statErr == nil {
		t.Error("a file outside of the host was written")
	}
	if err == nil {
		t.Error("a link out of the host is no error")
	}
	if read("etc/resolv.conf") != "changed" {
		t.Error("resolv.conf was written again")
	}
}

func TestKeysStayTheSame(t *testing.T) {
	p := New(Options{StateDir: t.TempDir()})
	inv, err := Plan(example())
	if err != nil {
		t.Fatal(err)
	}
	a, err := p.ensureKeys(inv)
	if err != nil {
		t.Fatal(err)
	}
	known, err := os.ReadFile(p.knownHostsPath())
	if err != nil {
		t.Fatal(err)
	}
	b, err := p.ensureKeys(inv)
	if err != nil {
		t.Fatal(err)
	}
	if string(a.login.Marshal()) != string(b.login.Marshal()) || string(a.hosts["dev-cp-1"].private) != string(b.hosts["dev-cp-1"].private) {
		t.Error("keys changed")
	}
	if lines := strings.Count(string(known), "\n"); lines != len(inv.Hosts) || !strings.Contains(string(known), "10.89.7.11,dev-cp-1 ssh-ed25519 ") {
		t.Errorf("known_hosts: %s", known)
	}
	if info, err := os.Stat(p.loginKeyPath()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("login key: %v %v", info.Mode(), err)
	}
	if err := os.WriteFile(p.loginKeyPath(), []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := p.ensureKeys(inv); err == nil {
		t.Error("a damaged key was replaced in silence")
	}
}
