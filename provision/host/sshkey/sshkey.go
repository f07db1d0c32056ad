// Package sshkey makes SSH keys for hosts and for who logs in to them.
package sshkey

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
	"golang.org/x/crypto/ssh"
)

// Make writes a new Ed25519 key to path, whole and with mode 0600, and gives the file's content: OpenSSH's
// PEM. The directory is made when it is not there, readable to nobody else.
func Make(path, comment string) ([]byte, error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make an SSH key: %w", err)
	}
	block, err := ssh.MarshalPrivateKey(private, comment)
	if err != nil {
		return nil, fmt.Errorf("make an SSH key: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("store the SSH key: %w", err)
	}
	data := pem.EncodeToMemory(block)
	if err := renameio.WriteFile(path, data, 0o600, renameio.IgnoreUmask()); err != nil {
		return nil, fmt.Errorf("store the SSH key %s: %w", path, err)
	}
	return data, nil
}
