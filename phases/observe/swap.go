package observe

import (
	"slices"
	"strings"
)

// Prefixes of Report.Swap's entries: swap that is on now, and what the next boot switches on.
const (
	SwapActive = "active "
	SwapFstab  = "fstab "
	SwapUnit   = "unit "
)

// swaps lists swap now (proc(5), /proc/swaps) and at the next boot (fstab(5), swap units, which
// are also made for partitions by type and for compressed memory).
func (r raw) swaps() []string {
	var out []string
	if lines := r.files["/proc/swaps"]; len(lines) > 1 {
		for _, line := range lines[1:] {
			out = append(out, SwapActive+strings.Join(strings.Fields(line), " "))
		}
	}
	for _, line := range r.files["/etc/fstab"] {
		if f := strings.Fields(line); len(f) > 2 && f[2] == "swap" && !strings.HasPrefix(f[0], "#") {
			out = append(out, SwapFstab+strings.Join(f, " "))
		}
	}
	for _, unit := range r.sections["bootswap"] {
		if !slices.Contains(out, SwapUnit+unit) {
			out = append(out, SwapUnit+unit)
		}
	}
	return out
}
