package sshhost_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"clusterctl/provision/host"
	"clusterctl/provision/host/hosttest"
	"clusterctl/provision/host/sshhost"
)

const canary = "s3cret canary '$x"

// fakeSudo plays sudo with the policy that the server's environment names. It marks what runs
// under it by AS_ROOT=1.
const fakeSudo = `#!/bin/sh
ask= never=
while :; do case $1 in -k) shift;; -S) ask=1; shift;; -n) never=1; shift;; -p) prompt=$2; shift 2;; --) shift; break;; *) echo "sudo: bad option $1" >&2; exit 1;; esac; done
case $POLICY in
nopasswd) ;;
requiretty) echo "sudo: sorry, you must have a tty to run sudo" >&2; exit 1;;
refuse) echo "ops is not in the sudoers file." >&2; exit 1;;
password)
	[ -z "$never" ] || { echo "sudo: a password is required" >&2; exit 1; }
	echo "We trust you have received the usual lecture" >&2
	for try in 1 2 3; do
		printf %s "$prompt" >&2
		read -r given || { echo "sudo: no password was provided" >&2; exit 1; }
		[ "$given" != "$PASSWORD" ] || break
		echo "Sorry, try again." >&2
		[ "$try" != 3 ] || exit 1
	done;;
esac
AS_ROOT=1; export AS_ROOT
exec "$@"
`

// sudoHost is a host of user ops under a policy of sudo.
func sudoHost(t *testing.T, policy string, needsPassword bool, o sshhost.Options) (*sshhost.Host, *hosttest.Server) {
	t.Helper()
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "sudo"), []byte(fakeSudo), 0o755); err != nil {
		t.Fatal(err)
	}
	s := hosttest.NewServer(t, hosttest.ServerOptions{
		Env: []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "POLICY=" + policy, "PASSWORD=" + canary}})
	inv := s.Inventory("h1")
	inv.SSH.User, inv.SSH.KeyPath, inv.SSH.SudoPassword = "ops", keyFile(t, ""), needsPassword
	return open(t, inv, o), s
}

func give(password string) func(string) (string, error) {
	return func(string) (string, error) { return password, nil }
}

// asRoot runs a command as root that reads its input.
func asRoot(t *testing.T, h host.Host) (host.Result, error) {
	t.Helper()
	return h.Run(t.Context(), host.Cmd{Root: true, Stdin: strings.NewReader("own input\n"),
		Args: []string{"sh", "-c", "echo AS_ROOT=$AS_ROOT; cat; echo problem >&2"}})
}

func wantAsRoot(t *testing.T, h host.Host) {
	t.Helper()
	r, err := asRoot(t, h)
	if err != nil || string(r.Stdout) != "AS_ROOT=1\nown input\n" || string(r.Stderr) != "problem\n" {
		t.Errorf("stdout %q, stderr %q, error %v", r.Stdout, r.Stderr, err)
	}
}

func TestSudoWithoutPassword(t *testing.T) {
	h, _ := sudoHost(t, "nopasswd", false, sshhost.Options{})
	wantAsRoot(t, h)
	r, err := h.Run(t.Context(), host.Cmd{Args: []string{"sh", "-c", "echo AS_ROOT=$AS_ROOT"}})
	if err != nil || string(r.Stdout) != "AS_ROOT=\n" {
		t.Errorf("a command that is not for root: %q, %v", r.Stdout, err)
	}
}

func TestSudoPasswordGoesToItsStandardInputOnly(t *testing.T) {
	var log bytes.Buffer
	asked := 0
	h, _ := sudoHost(t, "password", true, sshhost.Options{
		Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		SudoPassword: func(name string) (string, error) {
			asked++
			if name != "h1" {
				t.Errorf("asked for host %q", name)
			}
			return canary, nil
		}})
	wantAsRoot(t, h)
	wantAsRoot(t, h)
	r, err := h.Run(t.Context(), host.Cmd{Root: true, Args: []string{"sh", "-c", "cat /proc/$$/cmdline /proc/$PPID/cmdline; env | grep -v ^PASSWORD"}})
	if err != nil || bytes.Contains(r.Stdout, []byte("canary")) {
		t.Errorf("arguments and environment: %q, %v", r.Stdout, err)
	}
	if asked != 1 {
		t.Errorf("asked %d times, want once", asked)
	}
	if text := log.String() + fmt.Sprintf("%v %+v %#v", h, h, h); strings.Contains(text, "canary") {
		t.Errorf("the password is seen in %q", text)
	}
}

func TestSudoPasswordNeverReachesTheCommandWhenSudoDoesNotAsk(t *testing.T) {
	h, _ := sudoHost(t, "nopasswd", true, sshhost.Options{SudoPassword: give(canary)})
	wantAsRoot(t, h)
	f := hosttest.Content(filepath.Join(t.TempDir(), "f"), 0o644, []byte("content"))
	f.Owner = selfOwner(t)
	if err := h.Put(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(f.Path); err != nil || string(got) != "content" {
		t.Errorf("the file holds %q, %v", got, err)
	}
}

func TestPutThroughSudoWithPassword(t *testing.T) {
	h, s := sudoHost(t, "password", true, sshhost.Options{SudoPassword: give(canary)})
	dir := t.TempDir()
	var files []host.File
	for i := range 5 {
		f := hosttest.Content(filepath.Join(dir, fmt.Sprint(i)), 0o600, bytes.Repeat([]byte{byte(i), '\n'}, 1<<18))
		f.Owner = selfOwner(t)
		files = append(files, f)
	}
	if err := h.Put(t.Context(), files...); err != nil {
		t.Fatal(err)
	}
	for i, f := range files {
		if got, err := os.ReadFile(f.Path); err != nil || !bytes.Equal(got, bytes.Repeat([]byte{byte(i), '\n'}, 1<<18)) {
			t.Errorf("%s: %d bytes, %v", f.Path, len(got), err)
		}
	}
	if s.Execs() != 1 {
		t.Errorf("%d sessions for one Put, want 1", s.Execs())
	}
}

func TestSudoRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		policy   string
		password bool
		give     func(string) (string, error)
		want     []string
	}{
		"wrong password":        {"password", true, give("not it"), []string{"sudo does not accept the password of ops", "CLUSTERCTL_SUDO_PASSWORD"}},
		"none given":            {"password", true, nil, []string{"sudo needs a password and none was given", "CLUSTERCTL_SUDO_PASSWORD"}},
		"empty one given":       {"password", true, give(""), []string{"none was given"}},
		"cannot ask":            {"password", true, func(string) (string, error) { return "", errors.New("no terminal") }, []string{"no terminal"}},
		"not said in the spec":  {"password", false, nil, []string{"sudo needs a password", "sudoPassword: true", "NOPASSWD"}},
		"requiretty":            {"requiretty", false, nil, []string{"requiretty", "Defaults:ops !requiretty"}},
		"requiretty, password":  {"requiretty", true, give(canary), []string{"requiretty"}},
		"user not in sudoers":   {"refuse", false, nil, []string{"ops is not in the sudoers file", "sudoers"}},
		"not in sudoers, asked": {"refuse", true, give(canary), []string{"ops is not in the sudoers file"}},
	} {
		t.Run(name, func(t *testing.T) {
			h, _ := sudoHost(t, c.policy, c.password, sshhost.Options{SudoPassword: c.give})
			_, err := asRoot(t, h)
			wantUnreachable(t, err, append(c.want, "h1")...)
			if !errors.Is(err, host.ErrPrivilege) {
				t.Errorf("error %v does not wrap ErrPrivilege", err)
			}
			if strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), "not it") {
				t.Errorf("error %q holds the password", err)
			}
			f := hosttest.Content(filepath.Join(t.TempDir(), "f"), 0o644, []byte("x"))
			if err := h.Put(t.Context(), f); !errors.Is(err, host.ErrPrivilege) {
				t.Errorf("Put: error %v does not wrap ErrPrivilege", err)
			}
			if err := hello(t, h); err != nil {
				t.Errorf("a command that is not for root: %v", err)
			}
		})
	}
}

func TestExitCodeUnderSudoIsTheCommands(t *testing.T) {
	for _, policy := range []string{"nopasswd", "password"} {
		h, _ := sudoHost(t, policy, policy == "password", sshhost.Options{SudoPassword: give(canary)})
		_, err := h.Run(t.Context(), host.Cmd{Root: true, Args: []string{"sh", "-c", "exit 1"}})
		var exit *host.ExitError
		if !errors.As(err, &exit) || exit.Code != 1 {
			t.Errorf("%s: error %v, want exit code 1", policy, err)
		}
	}
}

func TestLoginShellThatRunsNothingIsTold(t *testing.T) {
	s := hosttest.NewServer(t, hosttest.ServerOptions{Exec: func(s hosttest.Session) int {
		fmt.Fprintln(s.Stdout, "This account is currently not available.")
		return 1
	}})
	inv := s.Inventory("h1")
	inv.SSH.KeyPath = keyFile(t, "")
	wantUnreachable(t, hello(t, open(t, inv, sshhost.Options{})), "the login shell of root ran no command", "exit code 1")
}

func TestCancelledBeforeAnythingIsCancelled(t *testing.T) {
	h, _ := sudoHost(t, "nopasswd", false, sshhost.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.Run(ctx, host.Cmd{Args: []string{"true"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}
