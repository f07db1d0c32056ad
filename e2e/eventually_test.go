//go:build e2e

package e2e

import (
	"context"
	"testing"
	"time"
)

// pace is how often a condition is asked.
const pace = 200 * time.Millisecond

// eventually asks check until it holds, and fails the test with its last answer when it does not
// within the given time.
func eventually(t *testing.T, within time.Duration, what string, check func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	began := time.Now()
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for {
		err := check(ctx)
		if err == nil {
			t.Logf("%s after %v", what, time.Since(began).Round(time.Millisecond))
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: not within %v: %v", what, within, err)
		case <-tick.C:
		}
	}
}
