package hosttest

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/crypto/ssh"

	"clusterctl/provision/inventory"
)

// ServerOptions is how a Server behaves. The zero value lets everybody in and executes.
type ServerOptions struct {
	// Addr to listen on. Default 127.0.0.1:0.
	Addr string
	// HostKeys are the server's keys. Default: one new ed25519 key.
	HostKeys []ssh.Signer
	// Authorized keys. nil: any key of any user is good.
	Authorized []ssh.PublicKey
	// MaxAuthTries is how many refused keys end a login, an even number. Default 6, as sshd's.
	MaxAuthTries int
	// MaxSessions is how many sessions one connection may have open. Default 10, as sshd's.
	MaxSessions int
	// MaxStartups is how many connections may be in their handshake; more are dropped. 0: any.
	MaxStartups int
	// NoForwarding refuses direct-tcpip, as AllowTcpForwarding no does.
	NoForwarding bool
	// Env is the environment of commands. nil: the process's own.
	Env []string
	// Exec executes a command line and gives its exit code. nil: sh -c, really.
	Exec func(Session) int
	// Dial opens the connections that clients want forwarded. nil: to where they want, really.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// Server is an SSH server in this process. It is cheap: one goroutine for itself and a few
// per connection, so that a benchmark can have a thousand.
type Server struct {
	o        ServerOptions
	config   *ssh.ServerConfig
	listener net.Listener
	gate     *gate
	wg       sync.WaitGroup

	mu     sync.Mutex
	conns  map[net.Conn]struct{}
	closed bool
	tries  []string // fingerprints offered, in order

	startups, logins, sessions, mostSessions, execs atomic.Int64
}

// NewServer starts a server that ends with the test.
func NewServer(t testing.TB, o ServerOptions) *Server {
	t.Helper()
	s, err := Serve(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// Serve starts a server; end it with Close. Its sessions end with ctx, too.
func Serve(ctx context.Context, o ServerOptions) (*Server, error) {
	if o.HostKeys == nil {
		key, err := NewKey()
		if err != nil {
			return nil, err
		}
		o.HostKeys = []ssh.Signer{key}
	}
	if o.Addr == "" {
		o.Addr = "127.0.0.1:0"
	}
	if o.MaxAuthTries == 0 {
		o.MaxAuthTries = 6
	}
	if o.MaxSessions == 0 {
		o.MaxSessions = 10
	}
	if o.Exec == nil {
		o.Exec = (&shell{env: o.Env}).exec
	}
	if o.Dial == nil {
		o.Dial = (&net.Dialer{}).DialContext
	}
	l, err := net.Listen("tcp", o.Addr)
	if err != nil {
		return nil, fmt.Errorf("listen for the SSH server: %w", err)
	}
	s := &Server{o: o, listener: l, gate: newGate(), conns: make(map[net.Conn]struct{})}
	// x/crypto does not count as many refused queries as it allows tries; sshd counts all.
	s.config = &ssh.ServerConfig{MaxAuthTries: o.MaxAuthTries / 2, PublicKeyCallback: s.checkKey}
	for _, k := range o.HostKeys {
		s.config.AddHostKey(k)
	}
	s.wg.Go(func() { s.accept(ctx) })
	return s, nil
}

// NewKey makes an ed25519 key.
func NewKey() (ssh.Signer, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	return ssh.NewSignerFromKey(key)
}

// Addr is where the server listens.
func (s *Server) Addr() *net.TCPAddr { return s.listener.Addr().(*net.TCPAddr) }

// HostKeys gives the server's public keys.
func (s *Server) HostKeys() []ssh.PublicKey {
	var out []ssh.PublicKey
	for _, k := range s.o.HostKeys {
		out = append(out, k.PublicKey())
	}
	return out
}

// Inventory describes the server as a host whose key is not checked and whose user is root.
func (s *Server) Inventory(name string) inventory.Host {
	a := s.Addr()
	return inventory.Host{
		Name: name, Role: inventory.Worker, Address: a.AddrPort().Addr(),
		SSH: inventory.SSH{Address: a.IP.String(), Port: a.Port, User: "root", Insecure: true},
	}
}

// Offered gives the fingerprints of the keys that were offered, in order.
func (s *Server) Offered() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.tries)
}

// Logins is how many connections have logged in so far.
func (s *Server) Logins() int { return int(s.logins.Load()) }

// Startups is how many connections were made so far.
func (s *Server) Startups() int { return int(s.startups.Load()) }

// Execs is how many commands were executed so far.
func (s *Server) Execs() int { return int(s.execs.Load()) }

// MostSessions is how many sessions of all connections were open at the same moment.
func (s *Server) MostSessions() int { return int(s.mostSessions.Load()) }

// Freeze stops all traffic without closing anything, as a dead firewall does.
func (s *Server) Freeze() { s.gate.shut() }

// Thaw lets the traffic go on.
func (s *Server) Thaw() { s.gate.open() }

// Drop cuts all connections that are there now.
func (s *Server) Drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		_ = c.Close() // it is meant to break
	}
}

// Close ends the server and its connections and waits for them.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	_ = s.listener.Close() // accept ends
	s.gate.open()
	s.Drop()
	s.wg.Wait()
}

func (s *Server) accept(ctx context.Context) {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return // closed
		}
		s.startups.Add(1)
		conn := &gatedConn{Conn: c, gate: s.gate}
		if !s.add(conn) {
			_ = c.Close() // refused
			continue
		}
		s.wg.Go(func() {
			defer s.remove(conn)
			s.serve(ctx, conn)
		})
	}
}

func (s *Server) add(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	handshakes := len(s.conns) - int(s.logins.Load())
	if s.closed || s.o.MaxStartups > 0 && handshakes >= s.o.MaxStartups {
		return false
	}
	s.conns[c] = struct{}{}
	return true
}

func (s *Server) remove(c net.Conn) {
	_ = c.Close() // may be closed already
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

func (s *Server) checkKey(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := ssh.FingerprintSHA256(key); len(s.tries) == 0 || s.tries[len(s.tries)-1] != f {
		s.tries = append(s.tries, f) // the query and the signature are one try
	}
	if s.o.Authorized == nil {
		return nil, nil
	}
	for _, k := range s.o.Authorized {
		if bytes.Equal(k.Marshal(), key.Marshal()) {
			return nil, nil
		}
	}
	return nil, errors.New("unknown key")
}

// shell executes command lines with sh, each as the leader of its own session, as sshd does.
type shell struct{ env []string }

func (sh *shell) exec(s Session) int {
	cmd := exec.CommandContext(s.Context, "sh", "-c", s.Command)
	return runCommand(cmd, sh.env, s)
}
