//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"clusterctl/e2e/load"
)

// interruptedRollout changes an argument of the API servers, presses Ctrl-C in the middle, and
// goes on. At no moment are two API servers away.
func interruptedRollout(t *testing.T, c *cluster) {
	c.edit(t, "event-ttl: 1h0m0s", "event-ttl: 2h0m0s")
	before := c.processes(t, all)
	watch := watchReadyz(t, c)

	first := command{args: []string{"up", c.spec, "--yes"}}.start(t)
	first.prints(t, time.Minute, "apiserver: started")
	first.signal(t, syscall.SIGINT)
	first.wait(t).exits(t, 130).says(t, "run the same command again")

	second := command{args: []string{"up", c.spec, "--yes"}}.start(t)
	second.prints(t, time.Minute, "apiserver: started")
	c.cli(t, "up", c.spec, "--yes").exits(t, 5).says(t, "process "+strconv.Itoa(second.cmd.Process.Pid), `running "up `+c.spec)
	second.wait(t).exits(t, 0)

	for _, moment := range watch.end() {
		t.Errorf("more than one API server was away: %s", moment)
	}
	for _, name := range planes {
		if got := c.sh(t, name, "tr '\\0' '\\n' </proc/$(systemctl show --property=MainPID --value kube-apiserver)/cmdline"); !strings.Contains(got, "--event-ttl=2h0m0s") {
			t.Errorf("the API server on %s runs with\n%s", name, got)
		}
	}
	for _, unit := range changedProcesses(t, before, c.processes(t, all)) {
		if !strings.HasSuffix(unit, "/kube-apiserver") {
			t.Errorf("%s was restarted by a change of the API servers' arguments", unit)
		}
	}
	c.cli(t, "plan", c.spec, "--detailed-exitcode").exits(t, 0)
}

// crashingScheduler gives the schedulers an argument that they take and cannot start with: one ends
// again and again, which is seen long before the time of its gate is over, and is put back.
func crashingScheduler(t *testing.T, c *cluster) {
	const at = "    version: " + kubernetesVersion + "\n"
	const bad = at + "    schedulerArgs: {tls-min-version: VersionTLS99}\n"
	before := c.processes(t, all)
	c.edit(t, at, bad)
	began := time.Now()
	c.cli(t, "up", c.spec, "--yes").exits(t, 1).says(t, "kube-scheduler ends and was started again", "unknown tls version",
		planes[0]+" was put back to what it ran before and is healthy again")
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %v", took)
	}
	c.edit(t, bad, at)
	for _, unit := range changedProcesses(t, before, c.processes(t, all)) {
		if unit != planes[0]+"/kube-scheduler" {
			t.Errorf("%s was restarted", unit)
		}
	}
	c.cli(t, "plan", c.spec, "--detailed-exitcode").exits(t, 0)
}

// readyWatch asks all API servers for /readyz ten times a second.
type readyWatch struct {
	stop func()
	bad  []string // moments with more than one away, for people
}

func watchReadyz(t *testing.T, c *cluster) *readyWatch {
	w := &readyWatch{}
	w.stop = load.Every(t.Context(), 100*time.Millisecond, func(ctx context.Context) {
		if away := c.away(ctx); len(away) > 1 && ctx.Err() == nil {
			w.bad = append(w.bad, time.Now().Format(time.TimeOnly)+" "+strings.Join(away, "; "))
		}
	})
	return w
}

// ready is what is asked for: without the checks of etcd, which fail on all servers at the same
// time when the machine is busy, and say nothing about restarts.
const ready = "/readyz?exclude=etcd&exclude=etcd-readiness"

// away asks all API servers at the same time and gives those that are not ready.
func (c *cluster) away(ctx context.Context) []string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	out := make([]string, len(planes))
	var wg sync.WaitGroup
	for i, name := range planes {
		wg.Go(func() {
			if code, body, err := c.anonymous(ctx, name, ready); err != nil || code != http.StatusOK {
				out[i] = fmt.Sprintf("%s: %d %v %s", name, code, err, failedChecks(body))
			}
		})
	}
	wg.Wait()
	return slices.DeleteFunc(out, func(s string) bool { return s == "" })
}

// failedChecks gives the lines of a /readyz that name what is not good.
func failedChecks(body string) string {
	var out []string
	for line := range strings.Lines(body) {
		if strings.HasPrefix(line, "[-]") {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return strings.Join(out, ", ")
}

func (w *readyWatch) end() []string {
	w.stop()
	return w.bad
}
