package observe

import (
	"net/netip"
	"strings"
)

// Where resolvers are configured: the file that all programs read, and the one in which
// systemd-resolved keeps the servers behind its stub (systemd-resolved(8)).
const (
	mainResolvConf     = "/etc/resolv.conf"
	resolvedResolvConf = "/run/systemd/resolve/resolv.conf"
)

// Resolver is the resolv.conf that pods may inherit: the first file that names a server which is
// no loopback address. ok is false when there is none.
func (r Report) Resolver() (file string, ok bool) {
	for _, f := range []string{mainResolvConf, resolvedResolvConf} {
		servers := Servers(r.ResolvConf[f])
		if len(servers) == 0 {
			continue
		}
		loopback := false
		for _, s := range servers {
			loopback = loopback || isLoopback(s)
		}
		if !loopback {
			return f, true
		}
	}
	return mainResolvConf, false
}

func isLoopback(server string) bool {
	a, err := netip.ParseAddr(server)
	return err == nil && (a.Unmap().IsLoopback() || a.IsUnspecified())
}

// Servers are the name servers of resolv.conf's lines.
func Servers(lines []string) []string { return directive(lines, "nameserver") }

// Search is the search domains of resolv.conf's lines.
func Search(lines []string) []string {
	return append(directive(lines, "search"), directive(lines, "domain")...)
}

func directive(lines []string, word string) []string {
	var out []string
	for _, l := range lines {
		if f := strings.Fields(l); len(f) > 1 && f[0] == word {
			out = append(out, f[1:]...)
		}
	}
	return out
}
