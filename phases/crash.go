package phases

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"clusterctl/components/resource"
	"clusterctl/phases/plan"
	"clusterctl/provision/host"
)

// mostRestarts is how often systemd may start a unit again that a run has restarted, before its
// host is given up.
const mostRestarts = 2

// crashing tells, when it is asked again and again, whether systemd starts a unit again and again
// that these steps restarted on a host; nil when they restarted none. A unit's first start is
// another matter: controllers end and begin anew until there is an API.
func (e *Env) crashing(name string, steps []plan.Step) func(context.Context) error {
	var units []string
	for _, s := range steps {
		if s.Key.Kind == resource.KindUnit && s.Verb == plan.Restart {
			units = append(units, s.Key.Name)
		}
	}
	if len(units) == 0 {
		return nil
	}
	var mu sync.Mutex // several conditions of a host ask
	var first map[string]int
	return func(ctx context.Context) error {
		h, err := e.Hosts.Get(name)
		if err != nil {
			return nil // the condition's own error is what counts
		}
		out, err := h.Run(ctx, host.Cmd{Args: append([]string{"systemctl", "show", "--property=Id,NRestarts"}, units...)})
		if err != nil {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		now := restartCounts(out.Stdout)
		if first == nil {
			first = now
		}
		for _, unit := range units {
			if n := now[unit] - first[unit]; n >= mostRestarts {
				return fmt.Errorf("%s ends and was started again %d times", strings.TrimSuffix(unit, ".service"), n)
			}
		}
		return nil
	}
}

// restartCounts reads what systemctl show says of several units: properties, one on a line, with an
// empty line between units.
func restartCounts(text []byte) map[string]int {
	out := map[string]int{}
	for block := range bytes.SplitSeq(text, []byte("\n\n")) {
		fields := map[string]string{}
		for line := range bytes.Lines(block) {
			key, value, _ := strings.Cut(strings.TrimSpace(string(line)), "=")
			fields[key] = value
		}
		if n, err := strconv.Atoi(fields["NRestarts"]); err == nil {
			out[fields["Id"]] = n
		}
	}
	return out
}
