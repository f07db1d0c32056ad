package sshhost

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"
	xknownhosts "golang.org/x/crypto/ssh/knownhosts"
)

// globalKnownHosts is read besides the user's own file, as ssh does (ssh_config(5),
// GlobalKnownHostsFile).
const globalKnownHosts = "/etc/ssh/ssh_known_hosts"

// HostKeyError says that the key a server showed is not the one that is known for it, or that
// none is known.
type HostKeyError struct {
	Host, Addr string
	User       string
	Shown      string   // type and fingerprint
	Known      []string // type, fingerprint and file:line of each known key; empty: unknown host
	File       string   // the known_hosts file to change
}

func (e *HostKeyError) Error() string {
	if len(e.Known) == 0 {
		return fmt.Sprintf("host key is not known: the host shows %s", e.Shown)
	}
	return fmt.Sprintf("host key changed: the host shows %s, known is %s", e.Shown, strings.Join(e.Known, ", "))
}

func (e *HostKeyError) remedy() string {
	name := knownhosts.Normalize(e.Addr)
	if len(e.Known) > 0 {
		return fmt.Sprintf("if the machine was made anew, run: ssh-keygen -R '%s' -f '%s'; if not, someone may be in between",
			name, e.File)
	}
	at, port, _ := net.SplitHostPort(e.Addr) // made by JoinHostPort
	return fmt.Sprintf("compare the fingerprint on the host's console, then accept it once with: ssh -o UserKnownHostsFile='%s' -p %s %s@%s",
		e.File, port, e.User, at)
}

// hostKeyCheck is the check of one handshake. passed and err say how it went.
type hostKeyCheck struct {
	callback   ssh.HostKeyCallback
	algorithms []string
	passed     bool
	err        error
}

// plainHostKeys is what is asked for when nothing is known, the shortest keys first.
func plainHostKeys() []string {
	return []string{
		ssh.KeyAlgoED25519, ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521,
		ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256,
	}
}

// hostKeyCheck prepares the check of the server at remote. The types of the keys that we know
// are asked for first, so that a server with several keys shows the known one.
func (h *Host) hostKeyCheck(remote net.Addr) (*hostKeyCheck, error) {
	c := &hostKeyCheck{algorithms: plainHostKeys()}
	if h.ssh.Insecure {
		c.callback = func(string, net.Addr, ssh.PublicKey) error { c.passed = true; return nil }
		return c, nil
	}
	db, err := knownhosts.NewDB(h.knownHostsFiles()...)
	if err != nil {
		return nil, fmt.Errorf("read known hosts: %w", err)
	}
	name := h.addr
	if known := db.HostKeyAlgorithms(name); len(known) == 0 {
		if _, isTCP := remote.(*net.TCPAddr); isTCP && len(db.HostKeyAlgorithms(remote.String())) > 0 {
			name = remote.String() // the spec has the name, the file the address
		}
	}
	c.algorithms = withFirst(db.HostKeyAlgorithms(name), c.algorithms)
	check := db.HostKeyCallback()
	c.callback = func(_ string, remote net.Addr, key ssh.PublicKey) error {
		if err := check(name, remote, key); err != nil {
			c.err = h.hostKeyError(err, key)
			return c.err
		}
		c.passed = true
		return nil
	}
	return c, nil
}

func withFirst(first, rest []string) []string {
	return append(slices.Clone(first), slices.DeleteFunc(rest, func(a string) bool { return slices.Contains(first, a) })...)
}

// knownHostsFiles lists the files that exist. None at all is fine: then no host is known.
func (h *Host) knownHostsFiles() []string {
	files := []string{h.knownHostsFile(), globalKnownHosts}
	return slices.DeleteFunc(files, func(f string) bool {
		_, err := os.Stat(f)
		return errors.Is(err, fs.ErrNotExist)
	})
}

func (h *Host) knownHostsFile() string {
	return h.o.expand(cmp.Or(h.ssh.KnownHostsPath, "~/.ssh/known_hosts"))
}

// hostKeyError tells what is known and what was shown.
func (h *Host) hostKeyError(err error, key ssh.PublicKey) error {
	out := &HostKeyError{Host: h.name, Addr: h.addr, User: h.ssh.User, Shown: describe(key), File: h.knownHostsFile()}
	var ke *xknownhosts.KeyError
	if !errors.As(err, &ke) {
		return fmt.Errorf("check host key %s: %w", describe(key), err)
	}
	for i, k := range ke.Want {
		if i == 0 {
			out.File = k.Filename
		}
		out.Known = append(out.Known, fmt.Sprintf("%s (%s:%d)", describe(k.Key), k.Filename, k.Line))
	}
	return out
}

func describe(key ssh.PublicKey) string {
	return strings.TrimPrefix(key.Type(), "ssh-") + " " + ssh.FingerprintSHA256(key)
}
