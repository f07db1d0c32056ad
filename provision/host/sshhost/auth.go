package sshhost

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// loginError says that the server took none of the keys.
type loginError struct {
	user    string
	offered []string
	err     error
}

func (e *loginError) Error() string {
	return fmt.Sprintf("login as %s refused, offered %s: %v", e.user, strings.Join(e.offered, ", "), e.err)
}

func (e *loginError) Unwrap() error { return e.err }

func (e *loginError) remedy() string {
	if len(e.offered) > 1 {
		return "name the right key with keyPath, or add one of these to the user's authorized_keys"
	}
	return fmt.Sprintf("add the key to %s's authorized_keys on the host, or name another with keyPath", e.user)
}

// credentials is what one connecting may offer. Keys are offered in order, over several logins
// if the server hangs up in between; none is offered twice.
type credentials struct {
	keys  []ssh.Signer
	tried []bool
	last  ssh.PublicKey // the last one that was offered
	err   error         // a key that could not sign
	agent net.Conn
	order func([]ssh.Signer) []ssh.Signer // the most promising first
}

// credentials gathers the keys for this host: the one that the inventory names, or else the
// agent's and then its identities, or the user's default files.
func (h *Host) credentials() (*credentials, error) {
	c := &credentials{}
	held, agentErr := c.openAgent(h.o.AgentSocket)
	var err error
	if h.ssh.KeyPath != "" {
		var key ssh.Signer
		if key, err = h.keys.named(h.ssh.KeyPath, held, agentErr); err == nil {
			c.keys = []ssh.Signer{key}
		}
	} else {
		c.keys, err = h.keys.several(h.ssh.Identities, held, agentErr)
	}
	if err != nil {
		c.close()
		return nil, err
	}
	// What is good may be found out on the bastion, while this waits.
	c.order = func(keys []ssh.Signer) []ssh.Signer { return h.keys.goodFirst(h.ssh.User, keys) }
	c.tried = make([]bool, len(c.keys))
	return c, nil
}

// remember lets the key that was accepted be the first to be offered from now on.
func (h *Host) remember(key ssh.PublicKey) {
	if key != nil {
		h.keys.setGood(h.ssh.User, ssh.FingerprintSHA256(key))
	}
}

// openAgent gives the agent's keys. They sign as long as the credentials are not closed.
func (c *credentials) openAgent(socket string) ([]ssh.Signer, error) {
	if socket == "" {
		return nil, errors.New("no agent")
	}
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return nil, fmt.Errorf("ask the SSH agent: %w", err)
	}
	signers, err := agent.NewClient(conn).Signers()
	if err != nil {
		_ = conn.Close() // the agent is of no use
		return nil, fmt.Errorf("ask the SSH agent for its keys: %w", err)
	}
	c.agent = conn
	return signers, nil
}

func (c *credentials) close() {
	if c.agent != nil {
		_ = c.agent.Close() // nothing is under way
	}
}

// signers is the ssh.PublicKeysCallback: the keys not yet offered.
func (c *credentials) signers() ([]ssh.Signer, error) {
	var out []ssh.Signer
	for i, k := range c.keys {
		if !c.tried[i] {
			out = append(out, &offeredKey{Signer: k, creds: c, index: i})
		}
	}
	return c.order(out), nil
}

func (c *credentials) left() int {
	n := 0
	for _, t := range c.tried {
		if !t {
			n++
		}
	}
	return n
}

// offered describes the keys that were offered.
func (c *credentials) offered() []string {
	var out []string
	for i, k := range c.keys {
		if c.tried[i] {
			out = append(out, describe(k.PublicKey()))
		}
	}
	if out == nil {
		out = append(out, "no key")
	}
	return out
}

// offeredKey notes that it was offered, and why it could not sign.
type offeredKey struct {
	ssh.Signer
	creds *credentials
	index int
}

// PublicKey is first called when the key is about to be offered.
func (k *offeredKey) PublicKey() ssh.PublicKey {
	k.creds.tried[k.index] = true
	k.creds.last = k.Signer.PublicKey()
	return k.creds.last
}

// SignWithAlgorithm is what makes RSA keys sign with SHA-2 (RFC 8332).
func (k *offeredKey) SignWithAlgorithm(rand io.Reader, data []byte, algorithm string) (*ssh.Signature, error) {
	var sig *ssh.Signature
	var err error
	if s, ok := k.Signer.(ssh.AlgorithmSigner); ok {
		sig, err = s.SignWithAlgorithm(rand, data, algorithm)
	} else {
		sig, err = k.Signer.Sign(rand, data)
	}
	if err != nil {
		k.creds.err = fmt.Errorf("sign with key %s: %w", describe(k.Signer.PublicKey()), err)
	}
	return sig, err
}
