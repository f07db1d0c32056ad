package static

import (
	"cmp"
	"fmt"
	"net"
	"strconv"
	"strings"

	"clusterctl/provision/inventory"
	"clusterctl/provision/spec"
)

// maxJumps is how many hosts may be on the way to one; more are a circle.
const maxJumps = 8

// reach completes how a host is reached: what the spec says, else what the user's SSH configuration
// says of its address, else the defaults.
func (c *sshConfig) reach(s inventory.SSH, user string, jumps int) (inventory.SSH, error) {
	if jumps > maxJumps {
		return s, fmt.Errorf("%s: ProxyJump on the way to %s leads in a circle", c.path, s.Address)
	}
	named := s.Address
	s, err := c.login(s, user)
	if err != nil {
		return s, err
	}
	if s.Bastion != nil {
		b, err := c.reach(c.withKeys(*s.Bastion, s), s.User, jumps+1)
		s.Bastion = &b
		return s, err
	}
	jump := c.first(named, "ProxyJump")
	switch command := c.first(named, "ProxyCommand"); {
	case jump != "" && jump != "none":
		s.Bastion, err = c.through(jump, s, jumps+1)
	case jump == "" && command != "" && command != "none":
		err = fmt.Errorf("%s: ProxyCommand of %s is not supported: use ProxyJump, or bastion in the spec", c.path, named)
	}
	return s, err
}

// login completes where sshd is and who logs in with what; user is who does where nothing is said.
func (c *sshConfig) login(s inventory.SSH, user string) (inventory.SSH, error) {
	named := s.Address
	at, err := c.expand("HostName", c.first(named, "HostName"), map[byte]string{'h': named})
	if err != nil {
		return s, err
	}
	port := 0
	if text := c.first(named, "Port"); text != "" && s.Port == 0 {
		if port, err = parsePort(text); err != nil {
			return s, fmt.Errorf("%s: Port of %s: %w", c.path, named, err)
		}
	}
	s.Address = cmp.Or(at, s.Address)
	s.Port = cmp.Or(s.Port, port, spec.DefaultSSHPort)
	s.User = cmp.Or(s.User, c.first(named, "User"), user)
	if s.KeyPath != "" {
		return s, nil
	}
	for _, file := range c.all(named, "IdentityFile") {
		path, err := c.expand("IdentityFile", file, map[byte]string{'d': "~", 'h': s.Address, 'n': named, 'p': strconv.Itoa(s.Port), 'r': s.User})
		if err != nil {
			return s, err
		}
		if path != "none" {
			s.Identities = append(s.Identities, path)
		}
	}
	return s, nil
}

// through gives the last of the hosts that a ProxyJump names, behind the others. Only the first is
// reached as its own section says.
func (c *sshConfig) through(list string, to inventory.SSH, jumps int) (*inventory.SSH, error) {
	var last *inventory.SSH
	for text := range strings.SplitSeq(list, ",") {
		hop, err := parseJump(strings.TrimSpace(text))
		if err != nil {
			return nil, fmt.Errorf("%s: ProxyJump %s: %w", c.path, list, err)
		}
		hop.KnownHostsPath, hop.Insecure = to.KnownHostsPath, to.Insecure
		if hop = c.withKeys(hop, to); last == nil {
			hop, err = c.reach(hop, to.User, jumps)
		} else {
			hop, err = c.login(hop, to.User)
			hop.Bastion = last
		}
		if err != nil {
			return nil, err
		}
		last = &hop
	}
	return last, nil
}

// withKeys gives a host on the way the keys of the one that it leads to, where it has none of its own.
func (c *sshConfig) withKeys(hop, to inventory.SSH) inventory.SSH {
	if hop.KeyPath == "" && len(c.all(hop.Address, "IdentityFile")) == 0 {
		hop.KeyPath, hop.Identities = to.KeyPath, to.Identities
	}
	return hop
}

// parseJump reads [ssh://][user@]host[:port].
func parseJump(text string) (inventory.SSH, error) {
	var out inventory.SSH
	text = strings.TrimSuffix(strings.TrimPrefix(text, "ssh://"), "/")
	if i := strings.LastIndex(text, "@"); i >= 0 {
		out.User, text = text[:i], text[i+1:]
	}
	out.Address = strings.Trim(text, "[]")
	if host, port, err := net.SplitHostPort(text); err == nil {
		out.Address = host
		if out.Port, err = parsePort(port); err != nil {
			return out, err
		}
	}
	if out.Address == "" || strings.ContainsAny(out.User+out.Address, "% ") {
		return out, fmt.Errorf("need [user@]host[:port], got %q", text)
	}
	return out, nil
}

func parsePort(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("need a port from 1 to 65535, got %q", text)
	}
	return int(n), nil
}
