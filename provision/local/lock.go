package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// pollInterval is how often a condition is looked at that nobody announces.
const pollInterval = 50 * time.Millisecond

// errLocked says that another process holds a lock.
var errLocked = errors.New("locked by another process")

// lockFile takes a kernel lock on an open file; it ends when the file is closed or the process dies.
func lockFile(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return errLocked
	}
	return err
}

// waitLock opens a lock file and takes it, when need be after its holder: then it calls waiting
// first.
func waitLock(ctx context.Context, path string, waiting func()) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err = lockFile(f); errors.Is(err, errLocked) {
		waiting()
		err = awaitLock(ctx, f, func() {})
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// awaitLock takes a lock, when need be after its holder; it calls locked whenever it finds one.
func awaitLock(ctx context.Context, f *os.File, locked func()) error {
	return poll(ctx, func() (bool, error) {
		err := lockFile(f)
		if errors.Is(err, errLocked) {
			locked()
			return false, nil
		}
		return err == nil, err
	})
}

// poll asks until the answer is true, an error, or the context is over.
func poll(ctx context.Context, ask func() (bool, error)) error {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		if done, err := ask(); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait: %w", context.Cause(ctx))
		case <-tick.C:
		}
	}
}
