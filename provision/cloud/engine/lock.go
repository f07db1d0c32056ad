package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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
	if dir, local := e.directory(); local {
		return ownersIn(dir, e.o.Stack), nil
	}
	s, ok, err := e.present(ctx)
	if err != nil || !ok {
		return nil, err
	}
	return e.owners(ctx, &s)
}

// directory is where the state is on this machine, if it is.
func (e *Engine) directory() (string, bool) {
	if e.o.Backend == "" {
		return e.stateDir(), true
	}
	return strings.CutPrefix(e.o.Backend, "file://")
}

// present opens the cluster's stack where there is one, to look at it.
func (e *Engine) present(ctx context.Context) (auto.Stack, bool, error) {
	p, err := e.own()
	if err != nil {
		return auto.Stack{}, false, err
	}
	return e.stack(ctx, p, func(*pulumi.Context) error { return nil }, false)
}

// owners gives who holds the state of a stack that is there.
func (e *Engine) owners(ctx context.Context, s *auto.Stack) ([]Owner, error) {
	if dir, local := e.directory(); local {
		return ownersIn(dir, e.o.Stack), nil
	}
	// It takes the lock before it says that a stack of this name is there already.
	err := s.Workspace().CreateStack(ctx, e.o.Stack)
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
	owners, err := e.owners(ctx, s)
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

// Unlock takes the lock of the state away from owners that were shown. A *LockedError names one that
// runs on this machine, or that came after them. Nobody there is no error.
func (e *Engine) Unlock(ctx context.Context, shown []Owner) error {
	s, ok, err := e.present(ctx)
	if err != nil || !ok {
		return err
	}
	owners, err := e.owners(ctx, &s)
	if err != nil || len(owners) == 0 {
		return err
	}
	for _, o := range owners {
		if o.here() && !o.dead() || !slices.ContainsFunc(shown, o.is) {
			return lockedBy([]Owner{o})
		}
	}
	return e.explain("take the lock of the cloud's state away", s.Cancel(ctx), nil)
}

func (o Owner) is(other Owner) bool {
	return o.PID == other.PID && o.Hostname == other.Hostname && o.Timestamp.Equal(other.Timestamp)
}
