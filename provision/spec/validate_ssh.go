package spec

import (
	"cmp"
	"fmt"
	"net"
	"strconv"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// checkSSH checks how hosts are reached. Two hosts may share an address with different ports or
// behind different bastions, but not all three.
func (v *validator) checkSSH() {
	if shared := v.c.Spec.Provider.SSH; shared != nil {
		v.checkSettings(at("provider", "ssh"), shared.SSHSettings)
	}
	targets := v.distinct()
	for h, path := range v.c.hosts() {
		v.checkHostField(path.Child("address"), h.Address)
		v.checkSettings(path, h.SSHSettings)
		if h.Address != "" {
			targets.add(sshTarget(h), path.Child("address"), "the SSH address %s")
		}
	}
}

// sshTarget is what an SSH connection to the host goes to.
func sshTarget(h *Host) string {
	target := net.JoinHostPort(h.Address, strconv.Itoa(cmp.Or(h.Port, DefaultSSHPort)))
	if b := h.Bastion; b != nil {
		target += " by way of " + net.JoinHostPort(b.Address, strconv.Itoa(cmp.Or(b.Port, DefaultSSHPort)))
	}
	return target
}

// checkSettings checks what the file sets at path itself: inherited settings are reported once,
// where they are written.
func (v *validator) checkSettings(path *field.Path, s SSHSettings) {
	v.checkUser(path.Child("user"), s.User)
	if b := s.Bastion; b != nil && v.isSet(path.Child("bastion")) {
		v.checkUser(path.Child("bastion", "user"), b.User)
		v.checkHostField(path.Child("bastion", "address"), b.Address)
	}
}

func (v *validator) checkUser(path *field.Path, user string) {
	bad := func(r rune) bool { return unicode.IsSpace(r) || r == ':' || r == '@' }
	if v.isSet(path) && (strings.HasPrefix(user, "-") || strings.ContainsFunc(user, bad)) {
		v.add(path, fmt.Sprintf("need a login name, got %q", user), "")
	}
}

// checkHostField checks a host name or IP address without port.
func (v *validator) checkHostField(path *field.Path, text string) {
	if text == "" {
		return
	}
	err := checkHostname(text)
	if err == nil {
		return
	}
	suggestion := ""
	if host, port, e := splitPort(text); e == nil && checkHostname(host) == nil {
		suggestion = fmt.Sprintf("write %s here and port: %d", host, port)
	}
	v.add(path, err.Error(), suggestion)
}
