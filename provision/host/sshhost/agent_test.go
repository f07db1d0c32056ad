package sshhost_test

import (
	"crypto/ed25519"
	"net"
	"path/filepath"
	"testing"

	"golang.org/x/crypto/ssh/agent"
)

// startAgent runs an SSH agent with the given keys and gives its socket.
func startAgent(t *testing.T, keys ...ed25519.PrivateKey) string {
	t.Helper()
	ring := agent.NewKeyring()
	for _, k := range keys {
		if err := ring.Add(agent.AddedKey{PrivateKey: k}); err != nil {
			t.Fatal(err)
		}
	}
	socket := filepath.Join(t.TempDir(), "agent")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_ = agent.ServeAgent(ring, c) // io.EOF at the end
				_ = c.Close()
			}()
		}
	}()
	return socket
}

func tenKeys(t *testing.T) []ed25519.PrivateKey {
	t.Helper()
	var keys []ed25519.PrivateKey
	for range 10 {
		keys = append(keys, newKey(t))
	}
	return keys
}
