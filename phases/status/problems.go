package status

import (
	"fmt"
	"net/netip"
	"strings"

	"clusterctl/provision/inventory"
)

// problems reads from the script's answer which units of ours do not run, and whether the host has
// its cluster address still: certificates, members and the other hosts' settings name that one.
func problems(h inventory.Host, text string) []string {
	var out, have []string
	found := false
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		switch {
		case len(f) >= 2 && f[0] == "down":
			out = append(out, fmt.Sprintf("%s: %s is %s", h.Name, f[1], strings.Join(f[2:], " ")))
		case len(f) >= 4 && (f[2] == "inet" || f[2] == "inet6"): // 2: eth0    inet 192.0.2.2/24 ...
			addr, _, _ := strings.Cut(f[3], "/")
			a, err := netip.ParseAddr(addr)
			found = found || err == nil && a.Unmap() == h.Address.Unmap()
			have = append(have, addr)
		}
	}
	if len(have) > 0 && !found && h.Address.IsValid() {
		out = append(out, fmt.Sprintf("%s: its cluster address is gone: expected %s, has %s; give it back, or write the new one in the spec and run up", h.Name, h.Address, strings.Join(have, ", ")))
	}
	return out
}
