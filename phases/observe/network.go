package observe

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// network reads addresses and the TCP ports that are listened on.
func (r raw) network(rep *Report) {
	var shown []string
	for _, line := range r.sections["address"] {
		n, ok := address(line)
		if !ok {
			continue
		}
		rep.Nets = append(rep.Nets, n)
		rep.DHCP = rep.DHCP || n.Dynamic
		shown = append(shown, n.Interface+" "+n.Prefix.String())
	}
	rep.Addresses = strings.Join(shown, ", ")
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		for _, line := range r.files[table] {
			if port, ok := listening(line); ok && !slices.Contains(rep.Listening, port) {
				rep.Listening = append(rep.Listening, port)
			}
		}
	}
	slices.Sort(rep.Listening)
	rep.Listeners = listeners(r.sections["listener"])
}

// address reads "2: eth0    inet 192.0.2.2/24 brd ... scope global dynamic eth0\ ...", a line of
// ip -o addr. "dynamic" is said of addresses that have an end of life.
func address(line string) (Net, bool) {
	f := strings.Fields(line)
	if len(f) < 4 || f[2] != "inet" && f[2] != "inet6" {
		return Net{}, false
	}
	text := f[3]
	if !strings.Contains(text, "/") { // the end of a tunnel, without a length
		text += map[string]string{"inet": "/32", "inet6": "/128"}[f[2]]
	}
	p, err := netip.ParsePrefix(text)
	return Net{Interface: f[1], Prefix: p, Dynamic: slices.Contains(f[4:], "dynamic")}, err == nil
}

// listening reads a line of /proc/net/tcp (proc(5)): number, local address:port in hexadecimal,
// remote address:port, state; 0A is LISTEN.
func listening(line string) (int, bool) {
	f := strings.Fields(line)
	if len(f) < 4 || f[3] != "0A" {
		return 0, false
	}
	_, text, _ := strings.Cut(f[1], ":")
	port, err := strconv.ParseUint(text, 16, 16)
	return int(port), err == nil
}

// listeners reads programs by port from lines of ss -Hltnp:
//
//	LISTEN 0 128 0.0.0.0:22 0.0.0.0:* users:(("sshd",pid=1,fd=3))
func listeners(lines []string) map[int]string {
	out := map[int]string{}
	for _, line := range lines {
		f := strings.Fields(line)
		if len(f) < 6 {
			continue
		}
		port, err := strconv.ParseUint(f[3][strings.LastIndex(f[3], ":")+1:], 10, 16)
		_, rest, ok := strings.Cut(f[5], `(("`)
		name, _, closed := strings.Cut(rest, `"`)
		if err == nil && ok && closed {
			out[int(port)] = name
		}
	}
	return out
}
