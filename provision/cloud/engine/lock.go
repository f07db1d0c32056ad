package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// LockedError says that another run of the engine has the state.
type LockedError struct{ Owner string }

func (e *LockedError) Error() string {
	return fmt.Sprintf("the cloud's state is locked by %s: wait for it to end, or when it certainly runs no more: clusterctl unlock", e.Owner)
}

// ExitCode is the contract's code for a lock.
func (e *LockedError) ExitCode() int { return 5 }

// Owner is what a lock of the state says (pulumi/pkg/backend/diy/lock.go).
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
func (o Owner) dead() bool { return o.here() && errors.Is(syscall.Kill(o.PID, 0), syscall.ESRCH) }

func (o Owner) here() bool {
	name, err := os.Hostname()
	return err == nil && name == o.Hostname
}

// Owners gives who holds the state. A directory's locks are read; of another state the engine is asked.
// A Pulumi service looks after its locks by itself and has none.
func (e *Engine) Owners(ctx context.Context) ([]Owner, error) {
	dir, local := strings.CutPrefix(e.o.Backend, "file://")
	switch {
	case local:
		return ownersIn(dir, e.o.Stack), nil
	case e.o.Backend == "":
		return ownersIn(e.stateDir(), e.o.Stack), nil
	}
	p, err := e.own()
	if err != nil {
		return nil, err
	}
	s, ok, err := e.stack(ctx, p, func(*pulumi.Context) error { return nil }, false)
	if err != nil || !ok {
		return nil, err
	}
	// It takes the lock before it says that a stack of this name is there already.
	err = s.Workspace().CreateStack(ctx, e.o.Stack)
	if err == nil || auto.IsCreateStack409Error(err) {
		return nil, nil
	}
	if owners := ownersOf(err.Error()); len(owners) > 0 {
		return owners, nil
	}
	return nil, e.explain("ask for the lock of the cloud's state", err, nil)
}

func ownersIn(dir, stack string) []Owner {
	files, err := filepath.Glob(filepath.Join(dir, ".pulumi", "locks", "organization", project, stack, "*.json"))
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

// ownerLine is how the engine names a lock (pulumi/pkg/backend/diy/lock.go, checkForLock).
var ownerLine = regexp.MustCompile(`created by (\S+)@(\S+) \(pid (\d+)\) at (\S+)`)

// ownersOf finds the owners that the engine names in an error.
func ownersOf(text string) []Owner {
	var out []Owner
	for _, m := range ownerLine.FindAllStringSubmatch(text, -1) {
		pid, err := strconv.Atoi(m[3])
		since, bad := time.Parse(time.RFC3339, m[4])
		if errors.Join(err, bad) == nil {
			out = append(out, Owner{PID: pid, Username: m[1], Hostname: m[2], Timestamp: since})
		}
	}
	return out
}

func lockedBy(owners []Owner) error {
	if len(owners) == 0 {
		return &LockedError{Owner: "another run"}
	}
	return &LockedError{Owner: owners[0].String()}
}

// clearDeadLock removes a lock whose owner is dead, as a lock of the kernel would have gone with
// it. A lock of a live process, or of another machine, stays.
func (e *Engine) clearDeadLock(ctx context.Context, s *auto.Stack) error {
	owners, err := e.Owners(ctx)
	if err != nil || len(owners) == 0 {
		return err
	}
	for _, o := range owners {
		if !o.dead() {
			return lockedBy([]Owner{o})
		}
	}
	e.o.Log.Info("clear the lock of a dead run", "owner", owners[0].String())
	return e.explain("clear the lock of a dead run", s.Cancel(ctx), nil)
}

// Unlock takes the lock of the state away from those who hold it, when none of them runs on this
// machine: a *LockedError names one that does. Nobody there is no error.
func (e *Engine) Unlock(ctx context.Context, owners []Owner) error {
	for _, o := range owners {
		if o.here() && !o.dead() {
			return lockedBy([]Owner{o})
		}
	}
	p, err := e.own()
	if err != nil {
		return err
	}
	s, ok, err := e.stack(ctx, p, func(*pulumi.Context) error { return nil }, false)
	if err != nil || !ok {
		return err
	}
	return e.explain("take the lock of the cloud's state away", s.Cancel(ctx), nil)
}
