package local

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"clusterctl/provision/host/sshkey"
	"clusterctl/provision/inventory"

	"github.com/google/renameio/v2"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// keys are a cluster's SSH keys. They live in the state directory, so that a host has the same
// key after a restart and known_hosts holds it before the host first runs.
type keys struct {
	login ssh.PublicKey          // may log in as root
	hosts map[string]hostKeyPair // by host name
}

// hostKeyPair is what a host shows to its callers.
type hostKeyPair struct {
	private []byte // OpenSSH PEM
	public  ssh.PublicKey
}

func (p *Provider) sshDir() string         { return filepath.Join(p.opts.StateDir, "ssh") }
func (p *Provider) loginKeyPath() string   { return filepath.Join(p.sshDir(), "id_ed25519") }
func (p *Provider) knownHostsPath() string { return filepath.Join(p.sshDir(), "known_hosts") }
func (p *Provider) hostKeyPath(host string) string {
	return filepath.Join(p.sshDir(), "host-keys", host)
}

// ensureKeys reads the keys or makes those that are missing, and writes known_hosts.
func (p *Provider) ensureKeys(inv inventory.Inventory) (keys, error) {
	if err := os.MkdirAll(filepath.Join(p.sshDir(), "host-keys"), 0o700); err != nil {
		return keys{}, fmt.Errorf("make the directory of SSH keys: %w", err)
	}
	k := keys{hosts: map[string]hostKeyPair{}}
	_, login, err := ensureKey(p.loginKeyPath(), "clusterctl")
	if err != nil {
		return keys{}, err
	}
	k.login = login
	if err := writeFile(p.loginKeyPath()+".pub", ssh.MarshalAuthorizedKey(login), 0o644); err != nil {
		return keys{}, err
	}
	var known bytes.Buffer
	for _, h := range inv.Hosts {
		private, public, err := ensureKey(p.hostKeyPath(h.Name), h.Name)
		if err != nil {
			return keys{}, err
		}
		k.hosts[h.Name] = hostKeyPair{private, public}
		fmt.Fprintln(&known, knownhosts.Line([]string{h.Address.String(), h.Name}, public))
	}
	return k, writeFile(p.knownHostsPath(), known.Bytes(), 0o600)
}

// ensureKey reads an Ed25519 key, or makes one when there is no file. A file that cannot be read
// is an error: a new key would lock us out of hosts that run.
func ensureKey(path, comment string) ([]byte, ssh.PublicKey, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		data, err = sshkey.Make(path, comment)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("SSH key %s: %w", path, err)
	}
	signer, err := ssh.ParsePrivateKey(data)
	if err != nil {
		return nil, nil, fmt.Errorf("read SSH key %s: %w; restore the file, or remove it together with the cluster", path, err)
	}
	return data, signer.PublicKey(), nil
}

// writeFile replaces a file of this machine whole, unless it has that content already.
func writeFile(path string, data []byte, mode fs.FileMode) error {
	if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, data) {
		return os.Chmod(path, mode)
	}
	if err := renameio.WriteFile(path, data, mode, renameio.IgnoreUmask()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
