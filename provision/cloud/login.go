package cloud

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"clusterctl/provision/cloud/layout"
	"clusterctl/provision/host/sshkey"
	"clusterctl/provision/spec"

	"github.com/google/renameio/v2"
	"golang.org/x/crypto/ssh"
)

func (p *Provider) sshDir() string         { return filepath.Join(p.opts.StateDir, "ssh") }
func (p *Provider) knownHostsPath() string { return filepath.Join(p.sshDir(), "known_hosts") }

// login says how the hosts are logged in to.
func (p *Provider) login(s *spec.Cluster) layout.Login {
	c := s.Spec.Provider.Cloud()
	key := c.KeyPath
	if key == "" {
		key = filepath.Join(p.sshDir(), "id_ed25519")
	}
	return layout.Login{User: c.User, KeyPath: key, KnownHostsPath: p.knownHostsPath()}
}

// publicKey gives the public half of the login key. It makes none: before there is a key and a
// cluster, the one that Ensure will make is stood for.
func (p *Provider) publicKey(s *spec.Cluster, founded bool) (string, error) {
	path := p.login(s).KeyPath
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		home := p.opts.SSH.Home
		if home == "" {
			home, _ = os.UserHomeDir() // without a home, ~ stays as it is
		}
		path = filepath.Join(home, rest)
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && s.Spec.Provider.Cloud().KeyPath == "" {
		if founded {
			return "", fmt.Errorf("the login key %s is gone: restore it from a backup; without it nobody can log in to the hosts", path)
		}
		return "ssh-ed25519 to-be-made clusterctl", nil
	}
	if err != nil {
		return "", fmt.Errorf("login key of the hosts: %w", err)
	}
	return publicHalf(path, data)
}

// publicHalf reads the public half out of a private key, the file beside it, or the file itself.
func publicHalf(path string, data []byte) (string, error) {
	if key, _, _, _, err := ssh.ParseAuthorizedKey(data); err == nil {
		return line(key), nil
	}
	if signer, err := ssh.ParsePrivateKey(data); err == nil {
		return line(signer.PublicKey()), nil
	}
	beside, err := os.ReadFile(path + ".pub")
	if err != nil {
		return "", fmt.Errorf("login key %s is encrypted or not a key, and its public half is not beside it: %w", path, err)
	}
	key, _, _, _, err := ssh.ParseAuthorizedKey(beside)
	if err != nil {
		return "", fmt.Errorf("login key %s.pub: %w", path, err)
	}
	return line(key), nil
}

// line is a key as in authorized_keys, without the comment that its owner gave it.
func line(key ssh.PublicKey) string {
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key))) + " clusterctl"
}

// ensureKey makes the login key of a cluster that is not founded yet, where the spec names none and
// there is none, and gives its public half.
func (p *Provider) ensureKey(s *spec.Cluster, founded bool) (string, error) {
	path := p.login(s).KeyPath
	if s.Spec.Provider.Cloud().KeyPath == "" {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) && !founded {
			if _, err := sshkey.Make(path, "clusterctl"); err != nil {
				return "", fmt.Errorf("login key of the hosts: %w", err)
			}
		}
	}
	return p.publicKey(s, true)
}

// writeKnownHosts replaces the file of the hosts' keys.
func (p *Provider) writeKnownHosts(lines []string) error {
	if err := os.MkdirAll(p.sshDir(), 0o700); err != nil {
		return fmt.Errorf("store the hosts' keys: %w", err)
	}
	data := []byte(strings.Join(lines, "\n") + "\n")
	if have, err := os.ReadFile(p.knownHostsPath()); err == nil && bytes.Equal(have, data) {
		return nil
	}
	if err := renameio.WriteFile(p.knownHostsPath(), data, 0o600, renameio.IgnoreUmask()); err != nil {
		return fmt.Errorf("store the hosts' keys: %w", err)
	}
	return nil
}
