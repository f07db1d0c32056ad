package cli

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"clusterctl/phases/state"
	"clusterctl/provision/host"
	"clusterctl/provision/spec"
)

// codedError stands for an error of another package that chooses its exit code.
type codedError struct{ code int }

func (codedError) Error() string   { return "coded" }
func (e codedError) ExitCode() int { return e.code }

func TestExitCodeOfError(t *testing.T) {
	unreachable := &host.UnreachableError{Host: "cp-1", Addr: "192.0.2.1:22", Err: errors.New("connection refused")}
	tests := []struct {
		name string
		err  error
		want int
	}{
		{"done", nil, 0},
		{"any error", errors.New("boom"), 1},
		{"a command on a host failed", &host.ExitError{Host: "cp-1", Code: 4}, 1},
		{"plan with changes", ErrChanges, 2},
		{"plan with changes, wrapped", fmt.Errorf("plan: %w", ErrChanges), 2},
		{"usage", &UsageError{errors.New("unknown flag")}, 3},
		{"spec", fmt.Errorf("load: %w", &spec.Error{Path: "spec.yaml"}), 3},
		{"another run holds the lock", fmt.Errorf("lock: %w", &state.LockedError{}), 5},
		{"host not reached", unreachable, 4},
		{"host not reached, wrapped and joined", fmt.Errorf("probe: %w", errors.Join(errors.New("other"), unreachable)), 4},
		{"an error with a code of its own", codedError{5}, 5},
		{"wrapped error with a code of its own", fmt.Errorf("lock: %w", codedError{5}), 5},
		{"cancelled", fmt.Errorf("wait: %w", context.Canceled), 130},
		{"timed out", context.DeadlineExceeded, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := exitCode(t.Context(), tt.err); got != tt.want {
				t.Errorf("exitCode(%v) = %d, want %d", tt.err, got, tt.want)
			}
		})
	}
}

func TestExitCodeIsInterruptedWhenContextIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := exitCode(ctx, errors.New("ssh: session closed")); got != 130 {
		t.Errorf("exit code of an error after a signal = %d, want 130", got)
	}
	if got := exitCode(ctx, nil); got != 0 {
		t.Errorf("exit code of work that was finished in spite of a signal = %d, want 0", got)
	}
}
