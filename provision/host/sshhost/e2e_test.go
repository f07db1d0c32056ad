//go:build e2e

package sshhost_test

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"clusterctl/provision/host"
	"clusterctl/provision/host/hosttest"
	"clusterctl/provision/host/sshhost"
	"clusterctl/provision/inventory"
)

// sshd is OpenSSH's server on a loopback port.
type sshd struct {
	port    int
	process *os.Process
	key     ed25519.PrivateKey // lets root and the test's users in
	keyPath string
	known   string // known_hosts with its key
	log     string
}

// startSSHD runs sshd with more lines of configuration.
func startSSHD(t testing.TB, config ...string) *sshd {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("sshd for several users needs root")
	}
	path, err := exec.LookPath("/usr/sbin/sshd")
	if err != nil {
		t.Skip("openssh-server is not installed")
	}
	dir := publicDir(t)
	s := &sshd{port: freePort(t), key: newKey(t), log: filepath.Join(dir, "log")}
	s.keyPath = writeKey(t, dir, "client", s.key, "")
	hostKey := newKey(t)
	lines := append([]string{
		"Port " + strconv.Itoa(s.port), "ListenAddress 127.0.0.1", "HostKey " + writeKey(t, dir, "host", hostKey, ""),
		"AuthorizedKeysFile " + writeFile(t, dir, "authorized", ssh.MarshalAuthorizedKey(signer(t, s.key).PublicKey())),
		"StrictModes no", "UsePAM no", "PidFile none", "PermitRootLogin yes", "PasswordAuthentication no",
		"SetEnv SHLVL=2", // bash reads no ~/.bashrc then, which may be slow on a developer's machine
	}, config...)
	s.known = writeFile(t, dir, "known", []byte(line(fmt.Sprintf("[127.0.0.1]:%d", s.port), signer(t, hostKey).PublicKey())+"\n"))
	if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "-D", "-E", s.log, "-f", writeFile(t, dir, "config", []byte(strings.Join(lines, "\n")+"\n")))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.process = cmd.Process
	t.Cleanup(func() {
		s.drop()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			text, _ := os.ReadFile(s.log)
			t.Logf("sshd: %s", text)
		}
	})
	return s
}

func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func writeFile(t testing.TB, dir, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o644); err != nil { // read by sshd as the user who logs in
		t.Fatal(err)
	}
	return path
}

// publicDir is a temporary directory that other users can look into.
func publicDir(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{filepath.Dir(dir), dir} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// drop kills the processes of all connections.
func (s *sshd) drop() {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", s.process.Pid, s.process.Pid))
	for _, field := range strings.Fields(string(text)) {
		if pid, err := strconv.Atoi(field); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

func (s *sshd) inventory(user string) inventory.Host {
	return inventory.Host{Name: "real", SSH: inventory.SSH{
		Address: "127.0.0.1", Port: s.port, User: user, KeyPath: s.keyPath, KnownHostsPath: s.known}}
}

// sudoUser makes a user with a line of sudoers (%s is the name) and a password for sudo.
func sudoUser(t *testing.T, name, password, sudoers string) {
	t.Helper()
	if _, err := exec.LookPath("sudo"); err != nil {
		t.Skip("sudo is not installed")
	}
	must := func(stdin string, args ...string) {
		t.Helper()
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Stdin = strings.NewReader(stdin)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", args[0], err, out)
		}
	}
	rules := filepath.Join("/etc/sudoers.d", name)
	t.Cleanup(func() {
		_ = os.Remove(rules)
		_ = exec.Command("userdel", "-r", "-f", name).Run()
	})
	_ = exec.Command("userdel", "-r", "-f", name).Run() // of a run that was cut off
	must("", "useradd", "-m", "-s", "/bin/bash", name)
	must(name+":"+password+"\n", "chpasswd")
	if err := os.WriteFile(rules, []byte(strings.ReplaceAll(sudoers, "%s", name)+"\n"), 0o440); err != nil {
		t.Fatal(err)
	}
}

func TestRealSSHDKeepsTheContract(t *testing.T) {
	sudoUser(t, "ctl-e2e-nopw", canary, "%s ALL=(ALL) NOPASSWD: ALL")
	sudoUser(t, "ctl-e2e-pw", canary, "%s ALL=(ALL) ALL")
	s := startSSHD(t) // ends before its users do
	for user, drop := range map[string]func(){"root": s.drop, "ctl-e2e-nopw": nil, "ctl-e2e-pw": nil} {
		t.Run(user, func(t *testing.T) {
			hosttest.Run(t, func(t *testing.T) hosttest.Subject {
				inv := s.inventory(user)
				inv.SSH.SudoPassword = user == "ctl-e2e-pw"
				h := open(t, inv, sshhost.Options{SudoPassword: give(canary)})
				return hosttest.Subject{Host: h, Dir: publicDir(t), Drop: drop}
			})
		})
	}
}

func TestRealSudoRefusals(t *testing.T) {
	sudoUser(t, "ctl-e2e-tty", canary, "Defaults:%s requiretty\n%s ALL=(ALL) NOPASSWD: ALL")
	sudoUser(t, "ctl-e2e-pw", canary, "%s ALL=(ALL) ALL")
	sudoUser(t, "ctl-e2e-none", canary, "")
	s := startSSHD(t)
	for _, c := range []struct {
		user     string
		password string
		want     string
	}{
		{"ctl-e2e-tty", "", "requiretty"},
		{"ctl-e2e-pw", "", "sudoPassword: true"},
		{"ctl-e2e-pw", "wrong", "sudo does not accept the password"},
		{"ctl-e2e-none", "", "sudo"},
		{"ctl-e2e-none", canary, "sudoers"},
	} {
		t.Run(c.user+" "+c.want, func(t *testing.T) {
			inv := s.inventory(c.user)
			inv.SSH.SudoPassword = c.password != ""
			_, err := asRoot(t, open(t, inv, sshhost.Options{SudoPassword: give(c.password)}))
			wantUnreachable(t, err, c.want)
			if !errors.Is(err, host.ErrPrivilege) || strings.Contains(err.Error(), "canary") {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestRealSSHDWithFewSessions(t *testing.T) {
	s := startSSHD(t, "MaxSessions 2", "MaxStartups 3")
	h := open(t, s.inventory("root"), sshhost.Options{})
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if err := hello(t, h); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestRealSSHDWithAnAgentOfTenKeys(t *testing.T) {
	s := startSSHD(t) // MaxAuthTries 6
	keys := tenKeys(t)
	keys[7] = s.key
	socket := startAgent(t, keys...)
	inv := s.inventory("root")
	inv.SSH.KeyPath = ""
	if err := hello(t, open(t, inv, sshhost.Options{AgentSocket: socket})); err != nil {
		t.Error(err)
	}
	inv.SSH.KeyPath = writeKey(t, t.TempDir(), "encrypted", s.key, "secret phrase")
	if err := hello(t, open(t, inv, sshhost.Options{AgentSocket: socket})); err != nil {
		t.Error(err)
	}
}

func TestRealSSHDAsBastion(t *testing.T) {
	bastion, target := startSSHD(t), startSSHD(t)
	inv, jump := target.inventory("root"), bastion.inventory("root").SSH
	inv.SSH.Bastion = &jump
	if err := hello(t, open(t, inv, sshhost.Options{})); err != nil {
		t.Error(err)
	}
}

func BenchmarkRealSSHDPut300MB(b *testing.B) {
	s := startSSHD(b)
	content := bytes.Repeat([]byte("0123456789abcdef"), 300<<20/16)
	f := hosttest.Content(filepath.Join(b.TempDir(), "artifact"), 0o755, content)
	h := sshhost.New(s.inventory("root"), sshhost.Options{})
	b.Cleanup(func() { _ = h.Close() })
	b.SetBytes(f.Size)
	before := cpu(b)
	for b.Loop() {
		if err := h.Put(b.Context(), f); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric((cpu(b)-before).Seconds()/float64(b.N), "client-cpu-s/op")
}

func BenchmarkRealSSHDRun(b *testing.B) {
	h := sshhost.New(startSSHD(b).inventory("root"), sshhost.Options{})
	b.Cleanup(func() { _ = h.Close() })
	for b.Loop() {
		if _, err := h.Run(b.Context(), host.Cmd{Args: []string{"true"}}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRealSSHDPut40Small(b *testing.B) {
	h := sshhost.New(startSSHD(b).inventory("root"), sshhost.Options{})
	b.Cleanup(func() { _ = h.Close() })
	var files []host.File
	dir := b.TempDir()
	for i := range 40 {
		files = append(files, hosttest.Content(filepath.Join(dir, fmt.Sprint(i)), 0o644, bytes.Repeat([]byte("line\n"), 200)))
	}
	for b.Loop() {
		if err := h.Put(b.Context(), files...); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRawSSH300MB is the bare transport: what any Put must stay above.
func BenchmarkRawSSH300MB(b *testing.B) {
	h := sshhost.New(startSSHD(b).inventory("root"), sshhost.Options{})
	b.Cleanup(func() { _ = h.Close() })
	content := bytes.Repeat([]byte("0123456789abcdef"), 300<<20/16)
	b.SetBytes(int64(len(content)))
	for b.Loop() {
		in := struct{ io.Reader }{bytes.NewReader(content)}
		if _, err := h.Run(b.Context(), host.Cmd{Args: []string{"dd", "of=/dev/null", "bs=1M"}, Stdin: in}); err != nil {
			b.Fatal(err)
		}
	}
}

// cpu is the CPU time that this process has used.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
