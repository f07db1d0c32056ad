//go:build e2e

package e2e

import (
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"

	"clusterctl/e2e/load"
)

// traffic is a client that goes on through everything a test does, with a line for each part.
type traffic struct {
	*load.Client
	log   func(string, ...any)
	since time.Time
}

func startTraffic(t *testing.T, api kubernetes.Interface) *traffic {
	t.Helper()
	return &traffic{startClient(t, api, 200*time.Millisecond, time.Second), t.Logf, time.Now()}
}

// mark tells how it went up to now.
func (c *traffic) mark(what string) {
	c.log("%s in %s; so far %s", what, time.Since(c.since).Round(time.Second), c.Seen())
	c.since = time.Now()
}

// report bears a few failed requests: a control plane loses its power in the middle of all this.
func (c *traffic) report(t *testing.T) {
	t.Helper()
	if r := report(t, c.Client); r.Requests < 100 || r.Failures > 5 || r.Retried*50 > r.Requests {
		t.Errorf("too many requests failed")
	}
}
