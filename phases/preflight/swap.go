package preflight

import (
	"strings"

	"clusterctl/phases/observe"
)

// swap: with "disable" it is switched off now and for the next boot, which a container cannot do
// with the machine's swap.
func swap(m machine) []Finding {
	if m.spec().Host.Swap != "disable" {
		return nil
	}
	var now, boot []string
	for _, entry := range m.report.Swap {
		if name, ok := strings.CutPrefix(entry, observe.SwapActive); ok {
			now = append(now, firstWord(name))
			continue
		}
		boot = append(boot, entry)
	}
	switch {
	case m.container() && len(now) > 0:
		return failure("switch it off on the machine that holds the container (swapoff -a), or set spec.host.swap: allow",
			"the machine's swap is on (%s), and a container cannot switch it off", strings.Join(now, ", "))
	case m.container() || len(now)+len(boot) == 0:
		return nil
	}
	return warning("nothing to do: up switches it off, now and for the next boot; to keep it set spec.host.swap: allow",
		"swap now: %s; at the next boot: %s", orNone(strings.Join(now, ", ")), orNone(strings.Join(boot, ", ")))
}

func firstWord(s string) string {
	word, _, _ := strings.Cut(s, " ")
	return word
}
