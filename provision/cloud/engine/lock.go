package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
)

// LockedError says that another run of the engine has the state.
type LockedError struct{ Owner string }

func (e *LockedError) Error() string {
	return fmt.Sprintf("the cloud's state is locked by %s: wait for it to end", e.Owner)
}

// ExitCode is the contract's code for a lock.
func (e *LockedError) ExitCode() int { return 5 }

// Owner is what a lock file of a file backend says (pulumi/pkg/backend/diy/lock.go).
type Owner struct {
	PID       int       `json:"pid"`
	Username  string    `json:"username"`
	Hostname  string    `json:"hostname"`
	Timestamp time.Time `json:"timestamp"`
}

func (o Owner) String() string {
	return fmt.Sprintf("%s@%s (process %d) since %s", o.Username, o.Hostname, o.PID, o.Timestamp.Format(time.RFC3339))
}

// dead says whether the owner certainly runs no more: it was on this machine, and its process is gone.
func (o Owner) dead() bool {
	name, err := os.Hostname()
	return err == nil && name == o.Hostname && errors.Is(syscall.Kill(o.PID, 0), syscall.ESRCH)
}

// Owners reads the locks of a state that is a directory of this machine; none for other backends.
func (e *Engine) Owners() []Owner {
	dir := e.stateDir()
	if path, ok := strings.CutPrefix(e.o.Backend, "file://"); ok {
		dir = path
	} else if e.o.Backend != "" {
		return nil
	}
	files, err := filepath.Glob(filepath.Join(dir, ".pulumi", "locks", "organization", project, e.o.Stack, "*.json"))
	if err != nil {
		return nil
	}
	var out []Owner
	for _, f := range files {
		var o Owner
		if data, err := os.ReadFile(f); err == nil && json.Unmarshal(data, &o) == nil {
			out = append(out, o)
		}
	}
	return out
}

func (e *Engine) locked() error {
	if owners := e.Owners(); len(owners) > 0 {
		return &LockedError{Owner: owners[0].String()}
	}
	return &LockedError{Owner: "another run"}
}

// clearDeadLock removes a lock whose owner is dead, as a lock of the kernel would have gone with
// it. A lock of a live process, or of another machine, stays.
func (e *Engine) clearDeadLock(ctx context.Context, s *auto.Stack) error {
	owners := e.Owners()
	for _, o := range owners {
		if !o.dead() {
			return &LockedError{Owner: o.String()}
		}
	}
	if len(owners) == 0 {
		return nil
	}
	e.o.Log.Info("clear the lock of a dead run", "owner", owners[0].String())
	if err := s.Cancel(ctx); err != nil {
		return e.explain("clear the lock of a dead run", err, nil)
	}
	return nil
}
