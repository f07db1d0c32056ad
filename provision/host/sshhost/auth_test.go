package sshhost_test

import (
	"crypto/ed25519"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"clusterctl/provision/host"
	"clusterctl/provision/host/hosttest"
	"clusterctl/provision/host/sshhost"
	"clusterctl/provision/inventory"
)

// hello runs a harmless command.
func hello(t *testing.T, h host.Host) error {
	t.Helper()
	r, err := h.Run(t.Context(), host.Cmd{Args: []string{"echo", "hello"}})
	if err == nil && string(r.Stdout) != "hello\n" {
		t.Errorf("echo printed %q", r.Stdout)
	}
	return err
}

func open(t *testing.T, inv inventory.Host, o sshhost.Options) *sshhost.Host {
	t.Helper()
	if o.Home == "" {
		o.Home = t.TempDir() // not the user's own keys
	}
	h := sshhost.New(inv, o)
	t.Cleanup(func() { _ = h.Close() })
	return h
}

// wantUnreachable checks a final error and gives it.
func wantUnreachable(t *testing.T, err error, texts ...string) *host.UnreachableError {
	t.Helper()
	var u *host.UnreachableError
	if !errors.As(err, &u) {
		t.Fatalf("error %v, want an UnreachableError", err)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error %q does not say %q", err, text)
		}
	}
	return u
}

// sixTries is a server that knows one key and ends a login after six refusals.
func sixTries(t *testing.T, key ed25519.PrivateKey) *hosttest.Server {
	t.Helper()
	return hosttest.NewServer(t, hosttest.ServerOptions{MaxAuthTries: 6, Authorized: []ssh.PublicKey{signer(t, key).PublicKey()}})
}

func wantOneTry(t *testing.T, s *hosttest.Server, key ed25519.PrivateKey) {
	t.Helper()
	want := ssh.FingerprintSHA256(signer(t, key).PublicKey())
	if got := s.Offered(); len(got) != 1 || got[0] != want {
		t.Errorf("offered %v, want only %s", got, want)
	}
	if s.Startups() != 1 {
		t.Errorf("%d connections, want 1", s.Startups())
	}
}

func TestEncryptedKeyFilePicksTheAgentsKey(t *testing.T) {
	keys := tenKeys(t)
	s := sixTries(t, keys[7])
	inv := s.Inventory("h1")
	home := t.TempDir()
	writeKey(t, filepath.Join(home, ".ssh"), "my key", keys[7], "secret phrase")
	inv.SSH.KeyPath = "~/.ssh/my key"
	if err := hello(t, open(t, inv, sshhost.Options{AgentSocket: startAgent(t, keys...), Home: home})); err != nil {
		t.Fatal(err)
	}
	wantOneTry(t, s, keys[7])
}

func TestPublicKeyFilePicksTheAgentsKey(t *testing.T) {
	keys := tenKeys(t)
	s := sixTries(t, keys[7])
	inv := s.Inventory("h1")
	inv.SSH.KeyPath = filepath.Join(t.TempDir(), "id.pub")
	if err := os.WriteFile(inv.SSH.KeyPath, ssh.MarshalAuthorizedKey(signer(t, keys[7]).PublicKey()), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := hello(t, open(t, inv, sshhost.Options{AgentSocket: startAgent(t, keys...)})); err != nil {
		t.Fatal(err)
	}
	wantOneTry(t, s, keys[7])

	err := hello(t, open(t, inv, sshhost.Options{AgentSocket: startAgent(t, keys[:3]...)}))
	wantUnreachable(t, err, "no private half in the agent", "ssh-add")
	err = hello(t, open(t, inv, sshhost.Options{}))
	wantUnreachable(t, err, "no agent")
}

func TestAgentWithTenKeysWorksThroughABastion(t *testing.T) {
	keys := tenKeys(t)
	bastion, target := sixTries(t, keys[7]), sixTries(t, keys[7])
	inv := target.Inventory("h1")
	jump := bastion.Inventory("").SSH
	inv.SSH.Bastion = &jump
	h := open(t, inv, sshhost.Options{AgentSocket: startAgent(t, keys...)})
	if err := hello(t, h); err != nil {
		t.Fatal(err)
	}
	// The first server hung up after six keys, the rest was offered on a second connection;
	// the key that was good there is the first one that the second server sees.
	if bastion.Startups() != 2 || len(bastion.Offered()) != 8 {
		t.Errorf("bastion: %d connections, %d keys", bastion.Startups(), len(bastion.Offered()))
	}
	wantOneTry(t, target, keys[7])
}

func TestEncryptedKeyWithoutAgentIsFinal(t *testing.T) {
	s := hosttest.NewServer(t, hosttest.ServerOptions{})
	inv := s.Inventory("h1")
	inv.SSH.KeyPath = keyFile(t, "secret phrase")
	start := time.Now()
	err := hello(t, open(t, inv, sshhost.Options{ConnectTimeout: time.Hour}))
	wantUnreachable(t, err, "key is encrypted, no agent", "ssh-add")
	if took := time.Since(start); took > time.Minute || s.Startups() != 0 {
		t.Errorf("took %v and %d connections", took, s.Startups())
	}
}

func TestPassphraseIsAskedForOncePerFile(t *testing.T) {
	key := newKey(t)
	s := sixTries(t, key)
	inv := s.Inventory("h1")
	inv.SSH.KeyPath = writeKey(t, t.TempDir(), "id", key, "secret phrase")
	asked := 0
	fleet := sshhost.NewFleet(sshhost.Options{Passphrase: func(path string) ([]byte, error) {
		asked++
		if path != inv.SSH.KeyPath {
			t.Errorf("asked for %s", path)
		}
		return []byte("secret phrase"), nil
	}})
	t.Cleanup(func() { _ = fleet.Close() })
	for range 3 {
		h := fleet.Open(inv)
		if err := hello(t, h); err != nil {
			t.Fatal(err)
		}
		_ = h.Close()
	}
	if asked != 1 {
		t.Errorf("asked %d times, want once", asked)
	}
	h := open(t, inv, sshhost.Options{Passphrase: func(string) ([]byte, error) { return []byte("wrong one"), nil }})
	err := hello(t, h)
	wantUnreachable(t, err, "decrypt", "give the right passphrase")
	if strings.Contains(err.Error(), "wrong one") {
		t.Errorf("error %q holds the passphrase", err)
	}
}

func TestPassphraseIsNotAskedForAKeyThatTheServerRefuses(t *testing.T) {
	s := sixTries(t, newKey(t))
	inv := s.Inventory("h1")
	inv.SSH.KeyPath = keyFile(t, "secret phrase")
	h := open(t, inv, sshhost.Options{Passphrase: func(string) ([]byte, error) {
		t.Error("the passphrase was asked for")
		return nil, nil
	}})
	wantUnreachable(t, hello(t, h), "login as root refused")
}

func TestWrongKeyIsFinal(t *testing.T) {
	s := sixTries(t, newKey(t))
	inv := s.Inventory("h1")
	inv.SSH.KeyPath = keyFile(t, "")
	err := hello(t, open(t, inv, sshhost.Options{ConnectTimeout: time.Hour}))
	wantUnreachable(t, err, "h1", "login as root refused", "SHA256:", "authorized_keys")
	if s.Startups() != 1 {
		t.Errorf("%d connections, want 1", s.Startups())
	}
}

func TestDefaultKeyFilesFollowTheAgents(t *testing.T) {
	key := newKey(t)
	s := sixTries(t, key)
	home := t.TempDir()
	writeKey(t, filepath.Join(home, ".ssh"), "id_ed25519", key, "")
	for _, socket := range []string{"", startAgent(t, newKey(t)), filepath.Join(home, "no agent here")} {
		if err := hello(t, open(t, s.Inventory("h1"), sshhost.Options{Home: home, AgentSocket: socket})); err != nil {
			t.Error(err)
		}
	}
	err := hello(t, open(t, s.Inventory("h1"), sshhost.Options{}))
	wantUnreachable(t, err, "no key to offer", "no agent", "keyPath")
}

// TestIdentitiesTakeTheDefaultFilesPlace: as for ssh, one that is not there is passed over.
func TestIdentitiesTakeTheDefaultFilesPlace(t *testing.T) {
	key := newKey(t)
	s := sixTries(t, key)
	home := t.TempDir()
	writeKey(t, filepath.Join(home, ".ssh"), "id_ed25519", newKey(t), "")
	writeKey(t, filepath.Join(home, ".ssh"), "work", key, "")
	inv := s.Inventory("h1")
	inv.SSH.Identities = []string{"~/.ssh/gone", "~/.ssh/work"}
	if err := hello(t, open(t, inv, sshhost.Options{Home: home})); err != nil {
		t.Error(err)
	}
	inv.SSH.Identities = inv.SSH.Identities[:1]
	wantUnreachable(t, hello(t, open(t, inv, sshhost.Options{Home: home})), "no key to offer", "no key file that can be used")
}

func TestMissingKeyFileIsFinal(t *testing.T) {
	s := hosttest.NewServer(t, hosttest.ServerOptions{})
	inv := s.Inventory("h1")
	inv.SSH.KeyPath = "~/.ssh/nothing here"
	wantUnreachable(t, hello(t, open(t, inv, sshhost.Options{})), "~/.ssh/nothing here", "no such file", "check keyPath")
}
