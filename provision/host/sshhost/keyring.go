package sshhost

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"

	"golang.org/x/crypto/ssh"
)

// KeyError says why a key cannot be used. It is final: nothing was sent to the host.
type KeyError struct {
	Path   string
	Reason string
	Remedy string
	Err    error
}

func (e *KeyError) Error() string {
	if e.Path == "" {
		return e.Reason
	}
	return fmt.Sprintf("key %s: %s", e.Path, e.Reason)
}

func (e *KeyError) Unwrap() error  { return e.Err }
func (e *KeyError) remedy() string { return e.Remedy }

// keyring reads key files. It asks for the passphrase of each once, and knows which key was
// last good for a login user.
type keyring struct {
	o Options

	opening sync.Mutex // one question at a time
	opened  map[string]ssh.Signer

	mu   sync.Mutex
	good map[string]string // user -> fingerprint
}

func newKeyring(o Options) *keyring {
	return &keyring{o: o, opened: make(map[string]ssh.Signer), good: make(map[string]string)}
}

func (r *keyring) setGood(user, fingerprint string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.good[user] = fingerprint
}

// goodFirst puts the key that was last good for the user in front.
func (r *keyring) goodFirst(user string, keys []ssh.Signer) []ssh.Signer {
	r.mu.Lock()
	good := r.good[user]
	r.mu.Unlock()
	i := slices.IndexFunc(keys, func(k ssh.Signer) bool { return fingerprint(k) == good })
	if i <= 0 {
		return keys
	}
	return slices.Concat(keys[i:i+1], keys[:i], keys[i+1:])
}

// fingerprint does not count as offering the key.
func fingerprint(k ssh.Signer) string {
	if o, ok := k.(*offeredKey); ok {
		k = o.Signer
	}
	return ssh.FingerprintSHA256(k.PublicKey())
}

// named gives the one key that path names: a private file, or the agent's key whose public
// half path is. held is what the agent holds, agentErr why it holds nothing.
func (r *keyring) named(path string, held []ssh.Signer, agentErr error) (ssh.Signer, error) {
	full := r.o.expand(path)
	content, err := os.ReadFile(full)
	if err != nil {
		return nil, &KeyError{Path: path, Reason: err.Error(), Remedy: "check keyPath", Err: err}
	}
	if pub, _, _, _, err := ssh.ParseAuthorizedKey(content); err == nil {
		if key := find(held, pub); key != nil {
			return key, nil
		}
		return nil, &KeyError{Path: path, Err: agentErr,
			Reason: fmt.Sprintf("the public key %s has no private half in the agent%s", describe(pub), because(agentErr)),
			Remedy: "add the private key with ssh-add, or name the private file"}
	}
	return r.private(path, full, content, held, agentErr)
}

func (r *keyring) private(path, full string, content []byte, held []ssh.Signer, agentErr error) (ssh.Signer, error) {
	key, err := ssh.ParsePrivateKey(content)
	var locked *ssh.PassphraseMissingError
	switch {
	case err == nil:
		return key, nil
	case !errors.As(err, &locked):
		return nil, &KeyError{Path: path, Reason: err.Error(), Err: err,
			Remedy: "keyPath must name an OpenSSH or PEM private key or a .pub file"}
	}
	pub := locked.PublicKey
	if pub == nil {
		pub = publicHalf(full) // old PEM formats hold no public part in clear
	}
	if key := find(held, pub); key != nil {
		return key, nil
	}
	if r.o.Passphrase == nil {
		return nil, &KeyError{Path: path, Err: err,
			Reason: "the key is encrypted" + because(agentErr) + " and there is no one to ask for its passphrase",
			Remedy: fmt.Sprintf("start ssh-agent and run: ssh-add '%s'", full)}
	}
	if pub == nil {
		return r.unlock(full, content)
	}
	return &lockedKey{pub: pub, unlock: func() (ssh.Signer, error) { return r.unlock(full, content) }}, nil
}

// because explains an agent that holds nothing.
func because(agentErr error) string {
	if agentErr == nil {
		return ", the agent does not hold it"
	}
	return ", " + agentErr.Error()
}

// publicHalf reads the .pub file beside a private one; nil when there is none.
func publicHalf(path string) ssh.PublicKey {
	content, err := os.ReadFile(path + ".pub")
	if err != nil {
		return nil
	}
	pub, _, _, _, err := ssh.ParseAuthorizedKey(content)
	if err != nil {
		return nil
	}
	return pub
}

func find(held []ssh.Signer, pub ssh.PublicKey) ssh.Signer {
	if pub == nil {
		return nil
	}
	for _, k := range held {
		if bytes.Equal(k.PublicKey().Marshal(), pub.Marshal()) {
			return k
		}
	}
	return nil
}

// unlock decrypts a key file. It asks for the passphrase unless that was done before.
func (r *keyring) unlock(full string, content []byte) (ssh.Signer, error) {
	r.opening.Lock()
	defer r.opening.Unlock()
	if key, ok := r.opened[full]; ok {
		return key, nil
	}
	phrase, err := r.o.Passphrase(full)
	if err != nil {
		return nil, &KeyError{Path: full, Reason: "ask for its passphrase: " + err.Error(), Err: err}
	}
	key, err := ssh.ParsePrivateKeyWithPassphrase(content, phrase)
	if err != nil {
		return nil, &KeyError{Path: full, Reason: "decrypt: " + err.Error(), Err: err, Remedy: "give the right passphrase"}
	}
	r.opened[full] = key
	return key, nil
}

// defaultIdentities are what ssh offers of a user who names none (ssh_config(5), IdentityFile).
var defaultIdentities = []string{"~/.ssh/id_ed25519", "~/.ssh/id_ecdsa", "~/.ssh/id_rsa"}

// several gives the agent's keys and then those of the files, or of the user's default ones. Files
// that are not there are passed over.
func (r *keyring) several(files []string, held []ssh.Signer, agentErr error) ([]ssh.Signer, error) {
	keys := slices.Clone(held)
	var notes []string
	if agentErr != nil {
		notes = append(notes, agentErr.Error())
	}
	if len(files) == 0 {
		files = defaultIdentities
	}
	for _, file := range files {
		full := r.o.expand(file)
		content, err := os.ReadFile(full)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var key ssh.Signer
		if err == nil {
			key, err = r.private(full, full, content, held, agentErr)
		}
		if err != nil {
			notes = append(notes, err.Error())
			continue
		}
		if find(keys, key.PublicKey()) == nil {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil, &KeyError{
			Reason: "there is no key to offer: " + strings.Join(append(notes, "no key file that can be used"), "; "),
			Remedy: "start ssh-agent and add a key with ssh-add, or set keyPath"}
	}
	return keys, nil
}

// lockedKey is an encrypted key whose public half is known: it is decrypted only when the
// server would accept it.
type lockedKey struct {
	pub    ssh.PublicKey
	unlock func() (ssh.Signer, error)
}

func (k *lockedKey) PublicKey() ssh.PublicKey { return k.pub }

func (k *lockedKey) Sign(rand io.Reader, data []byte) (*ssh.Signature, error) {
	return k.SignWithAlgorithm(rand, data, "")
}

func (k *lockedKey) SignWithAlgorithm(rand io.Reader, data []byte, algorithm string) (*ssh.Signature, error) {
	key, err := k.unlock()
	if err != nil {
		return nil, err
	}
	if s, ok := key.(ssh.AlgorithmSigner); ok {
		return s.SignWithAlgorithm(rand, data, algorithm)
	}
	return key.Sign(rand, data)
}
