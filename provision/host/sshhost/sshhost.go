// Package sshhost reaches a host over SSH: one connection per host, made when it is first
// needed and made again after it died.
package sshhost

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"clusterctl/provision/host"
	"clusterctl/provision/inventory"
)

// Options is what all hosts of a run have in common. The zero value is usable: no agent, no
// one to ask, the default times.
type Options struct {
	Log *slog.Logger // nil: nothing is logged

	// SudoPassword gives the password for sudo on a host whose inventory says that sudo needs
	// one. It is called once per host. nil: there is no password.
	SudoPassword func(host string) (string, error)
	// Passphrase gives the passphrase of an encrypted key file. It is called once per file, and
	// only when the server would accept that key. nil: there is no one to ask.
	Passphrase func(path string) ([]byte, error)
	// AgentSocket is where the SSH agent listens, usually $SSH_AUTH_SOCK. Empty: no agent.
	AgentSocket string
	// Home is what ~ stands for and where .ssh is. Empty: the user's home directory.
	Home string

	DialTimeout    time.Duration // one attempt to connect and log in; default 10 s
	ConnectTimeout time.Duration // all attempts together; default 30 s
	KeepAlive      time.Duration // how often an idle link is probed; default 5 s
	LinkTimeout    time.Duration // a link silent for so long is dead; default 15 s
	MaxSessions    int           // sessions open at the same moment, the rest queue; default 8

	// Dial makes the network connection. nil: net.Dialer. Not used behind a bastion.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// withDefaults fills what was left out. MaxSessions is below sshd's default of 10, so that
// another login to the same connection's limit is never needed.
func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Home == "" {
		o.Home, _ = os.UserHomeDir() // without a home, ~ stays as it is
	}
	o.DialTimeout = cmp.Or(o.DialTimeout, 10*time.Second)
	o.ConnectTimeout = cmp.Or(o.ConnectTimeout, 30*time.Second)
	o.KeepAlive = cmp.Or(o.KeepAlive, 5*time.Second)
	o.LinkTimeout = cmp.Or(o.LinkTimeout, 15*time.Second)
	o.MaxSessions = cmp.Or(o.MaxSessions, 8)
	if o.Dial == nil {
		o.Dial = (&net.Dialer{KeepAlive: 15 * time.Second}).DialContext
	}
	return o
}

// expand replaces a leading ~ by the home directory.
func (o Options) expand(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && o.Home != "" {
		return filepath.Join(o.Home, rest)
	}
	return path
}

// Host is one machine reached over SSH.
type Host struct {
	name     string
	ssh      inventory.SSH
	addr     string // host:port, IPv6 in brackets
	o        Options
	log      *slog.Logger
	keys     *keyring
	jump     *Host // bastion; nil when there is none
	ownsJump bool
	slots    *slots

	mu      sync.Mutex
	current *link
	pending *attempt

	sudo sudoPassword
}

var _ host.Host = (*Host)(nil)

// New makes a host that connects when it is first used. Hosts that share a bastion or an
// encrypted key are better made by one Fleet.
func New(h inventory.Host, o Options) *Host {
	o = o.withDefaults()
	keys := newKeyring(o)
	out := newHost(h.Name, h.SSH, o, keys)
	if b := h.SSH.Bastion; b != nil {
		out.jump, out.ownsJump = newJump(*b, o, keys), true
	}
	return out
}

func newHost(name string, s inventory.SSH, o Options, keys *keyring) *Host {
	s.Port = cmp.Or(s.Port, 22)
	s.User = cmp.Or(s.User, "root")
	return &Host{
		name:  name,
		ssh:   s,
		addr:  net.JoinHostPort(s.Address, strconv.Itoa(s.Port)),
		o:     o,
		log:   o.Log.With("host", name),
		keys:  keys,
		slots: newSlots(o.MaxSessions),
	}
}

func newJump(s inventory.SSH, o Options, keys *keyring) *Host {
	h := newHost("bastion "+s.Address, s, o, keys)
	if s.Bastion != nil {
		h.jump, h.ownsJump = newJump(*s.Bastion, o, keys), true
	}
	return h
}

// Name is the host's name in the inventory.
func (h *Host) Name() string { return h.name }

// Close ends the connection and that of a bastion which is not shared. The next call connects
// again.
func (h *Host) Close() error {
	h.mu.Lock()
	l := h.current
	h.current = nil
	h.mu.Unlock()
	if l != nil {
		l.end(net.ErrClosed)
	}
	if h.ownsJump {
		return h.jump.Close()
	}
	return nil
}
