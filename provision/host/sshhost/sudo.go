package sshhost

import (
	"bytes"
	"fmt"
	"log/slog"
	"sync"

	"clusterctl/provision/host"
)

// secret is text that must not be seen: whatever prints it prints ***. It is held by a
// function, because fmt looks into fields without asking for their String.
type secret struct{ reveal func() string }

func newSecret(text string) secret { return secret{reveal: func() string { return text }} }

func (s secret) isSet() bool { return s.reveal != nil }

func (secret) String() string               { return "***" }
func (s secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(s.String())) }
func (s secret) LogValue() slog.Value       { return slog.StringValue(s.String()) }
func (secret) MarshalJSON() ([]byte, error) { return []byte(`"***"`), nil }

// sudoPassword asks for the password once.
type sudoPassword struct {
	mu    sync.Mutex
	asked bool
	value secret
	err   error
}

// password gives the password for sudo.
func (h *Host) password() (secret, error) {
	h.sudo.mu.Lock()
	defer h.sudo.mu.Unlock()
	if h.sudo.asked {
		return h.sudo.value, h.sudo.err
	}
	h.sudo.asked = true
	var value string
	var err error
	if h.o.SudoPassword != nil {
		value, err = h.o.SudoPassword(h.name)
	}
	switch {
	case err != nil:
		h.sudo.err = &privilegeError{reason: fmt.Sprintf("ask for the sudo password: %v", err)}
	case value == "":
		h.sudo.err = &privilegeError{reason: "sudo needs a password and none was given",
			next: "set CLUSTERCTL_SUDO_PASSWORD or run on a terminal"}
	default:
		h.sudo.value = newSecret(value)
	}
	return h.sudo.value, h.sudo.err
}

// privilegeError says why sudo did not make us root.
type privilegeError struct{ reason, next string }

func (e *privilegeError) Error() string  { return e.reason }
func (e *privilegeError) Unwrap() error  { return host.ErrPrivilege }
func (e *privilegeError) remedy() string { return e.next }

// sudoRefusal explains why a command under sudo never began. stderr is what sudo said in the
// C locale.
func sudoRefusal(user string, askedAgain bool, stderr []byte) error {
	said := string(bytes.TrimSpace(stderr))
	switch {
	case askedAgain:
		return &privilegeError{reason: "sudo does not accept the password of " + user,
			next: "check CLUSTERCTL_SUDO_PASSWORD"}
	case bytes.Contains(stderr, []byte("you must have a tty")):
		return &privilegeError{reason: "sudo wants a terminal (requiretty)",
			next: fmt.Sprintf("add to sudoers: Defaults:%s !requiretty", user)}
	case bytes.Contains(stderr, []byte("password is required")):
		return &privilegeError{reason: "sudo needs a password",
			next: fmt.Sprintf("set sudoPassword: true for the host and CLUSTERCTL_SUDO_PASSWORD, or add to sudoers: %s ALL=(ALL) NOPASSWD: ALL", user)}
	case said == "":
		said = "no reason given"
	}
	return &privilegeError{reason: fmt.Sprintf("sudo as %s: %s", user, said),
		next: "check that sudo is installed and that sudoers lets the user run all commands"}
}
