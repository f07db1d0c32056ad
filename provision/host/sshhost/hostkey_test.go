package sshhost_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"clusterctl/provision/host/hosttest"
	"clusterctl/provision/host/sshhost"
	"clusterctl/provision/inventory"
)

// threeKeys is an ecdsa, an rsa and an ed25519 key, in this order.
func threeKeys(t *testing.T) []ssh.Signer {
	t.Helper()
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	rs, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	var out []ssh.Signer
	for _, k := range []crypto.Signer{ec, rs, newKey(t)} {
		s, err := ssh.NewSignerFromKey(k)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	return out
}

// known writes a known_hosts file.
func known(t *testing.T, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "known hosts")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func line(name string, key ssh.PublicKey) string {
	return name + " " + strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))
}

// checked is the server's inventory with its key checked against file.
func checked(t *testing.T, s *hosttest.Server, file string) inventory.Host {
	t.Helper()
	inv := s.Inventory("h1")
	inv.SSH.Insecure = false
	inv.SSH.KnownHostsPath = file
	inv.SSH.KeyPath = keyFile(t, "")
	return inv
}

func TestKnownKeyTypeIsAskedForFirst(t *testing.T) {
	keys := threeKeys(t)
	s := hosttest.NewServer(t, hosttest.ServerOptions{HostKeys: keys})
	for _, k := range keys {
		file := known(t, line(knownhosts.Normalize(s.Addr().String()), k.PublicKey()))
		before, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := hello(t, open(t, checked(t, s, file), sshhost.Options{})); err != nil {
			t.Errorf("only %s is known: %v", k.PublicKey().Type(), err)
		}
		if after, err := os.ReadFile(file); err != nil || string(after) != string(before) {
			t.Errorf("the known_hosts file was changed: %v", err)
		}
	}
}

func TestChangedHostKeyIsFinalAndTellsBothFingerprints(t *testing.T) {
	keys, other := threeKeys(t), signer(t, newKey(t)).PublicKey()
	s := hosttest.NewServer(t, hosttest.ServerOptions{HostKeys: keys})
	file := known(t, "# first line", line(knownhosts.Normalize(s.Addr().String()), other))
	err := hello(t, open(t, checked(t, s, file), sshhost.Options{}))
	wantUnreachable(t, err, "host key changed",
		ssh.FingerprintSHA256(other), ssh.FingerprintSHA256(keys[2].PublicKey()), file+":2",
		fmt.Sprintf("ssh-keygen -R '[127.0.0.1]:%d'", s.Addr().Port))
	if s.Startups() != 1 || len(s.Offered()) != 0 {
		t.Errorf("%d connections, %d keys were offered", s.Startups(), len(s.Offered()))
	}
}

func TestHostKeyOfAnotherTypeOnlyIsAMismatch(t *testing.T) {
	keys := threeKeys(t)
	s := hosttest.NewServer(t, hosttest.ServerOptions{HostKeys: keys[:1]})
	file := known(t, line(knownhosts.Normalize(s.Addr().String()), keys[2].PublicKey()))
	err := hello(t, open(t, checked(t, s, file), sshhost.Options{}))
	wantUnreachable(t, err, "host key changed", ssh.FingerprintSHA256(keys[0].PublicKey()), ssh.FingerprintSHA256(keys[2].PublicKey()))
}

func TestUnknownHostIsRefusedWithItsFingerprint(t *testing.T) {
	s := hosttest.NewServer(t, hosttest.ServerOptions{})
	for _, file := range []string{known(t), filepath.Join(t.TempDir(), "not there")} {
		err := hello(t, open(t, checked(t, s, file), sshhost.Options{}))
		wantUnreachable(t, err, "host key is not known", ssh.FingerprintSHA256(s.HostKeys()[0]),
			fmt.Sprintf("-p %d root@127.0.0.1", s.Addr().Port), file)
		if s.Startups() > 2 {
			t.Errorf("%d connections", s.Startups())
		}
		if _, err := os.Stat(file); err != nil && !os.IsNotExist(err) {
			t.Error(err)
		}
	}
}

func TestHashedEntriesAreUnderstood(t *testing.T) {
	s := hosttest.NewServer(t, hosttest.ServerOptions{})
	name := knownhosts.HashHostname(knownhosts.Normalize(s.Addr().String()))
	if err := hello(t, open(t, checked(t, s, known(t, line(name, s.HostKeys()[0]))), sshhost.Options{})); err != nil {
		t.Error(err)
	}
}

func TestNameInTheSpecAddressInTheFile(t *testing.T) {
	s := hosttest.NewServer(t, hosttest.ServerOptions{HostKeys: threeKeys(t)})
	inv := checked(t, s, known(t, line(knownhosts.Normalize(s.Addr().String()), s.HostKeys()[0])))
	inv.SSH.Address = "localhost"
	if addrs, err := net.LookupHost("localhost"); err != nil || addrs[0] != "127.0.0.1" {
		t.Skip("localhost is not 127.0.0.1 here")
	}
	if err := hello(t, open(t, inv, sshhost.Options{})); err != nil {
		t.Error(err)
	}
}

func TestIPv6HostIsKnownWithBracketsAndPort(t *testing.T) {
	if l, err := net.Listen("tcp", "[::1]:0"); err != nil {
		t.Skip("no IPv6 here")
	} else {
		_ = l.Close()
	}
	s := hosttest.NewServer(t, hosttest.ServerOptions{Addr: "[::1]:0"})
	file := known(t, line(fmt.Sprintf("[::1]:%d", s.Addr().Port), s.HostKeys()[0]))
	if err := hello(t, open(t, checked(t, s, file), sshhost.Options{})); err != nil {
		t.Error(err)
	}
}

func TestRevokedHostKeyIsRefused(t *testing.T) {
	s := hosttest.NewServer(t, hosttest.ServerOptions{})
	name := knownhosts.Normalize(s.Addr().String())
	file := known(t, line(name, s.HostKeys()[0]), "@revoked "+line("*", s.HostKeys()[0]))
	wantUnreachable(t, hello(t, open(t, checked(t, s, file), sshhost.Options{})), "revoked")
}

func TestInsecureIsExplicit(t *testing.T) {
	s := hosttest.NewServer(t, hosttest.ServerOptions{})
	inv := checked(t, s, known(t, line(knownhosts.Normalize(s.Addr().String()), signer(t, newKey(t)).PublicKey())))
	inv.SSH.Insecure = true
	if err := hello(t, open(t, inv, sshhost.Options{})); err != nil {
		t.Error(err)
	}
}

func TestBastionsKeyIsCheckedToo(t *testing.T) {
	bastion, target := hosttest.NewServer(t, hosttest.ServerOptions{}), hosttest.NewServer(t, hosttest.ServerOptions{})
	entry := func(s *hosttest.Server) string {
		return line(knownhosts.Normalize(s.Addr().String()), s.HostKeys()[0])
	}
	inv := checked(t, target, known(t, entry(target), entry(bastion)))
	jump := checked(t, bastion, inv.SSH.KnownHostsPath).SSH
	inv.SSH.Bastion = &jump
	if err := hello(t, open(t, inv, sshhost.Options{})); err != nil {
		t.Error(err)
	}
	jump.KnownHostsPath = known(t, entry(target))
	err := hello(t, open(t, inv, sshhost.Options{}))
	wantUnreachable(t, err, "bastion 127.0.0.1", "host key is not known", ssh.FingerprintSHA256(bastion.HostKeys()[0]))
}
