package state

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"
)

// Holder says who holds a lock and what for.
type Holder struct {
	User    string    `json:"user"`
	Machine string    `json:"machine"`
	PID     int       `json:"pid"`
	Since   time.Time `json:"since"`
	Command string    `json:"command"`
}

func (h Holder) String() string {
	if h.PID == 0 {
		return "a run that has only just begun"
	}
	return fmt.Sprintf("%s@%s (process %d) since %s, running %q", h.User, h.Machine, h.PID, h.Since.Format(time.RFC3339), h.Command)
}

// LockedError says that another run holds the lock.
type LockedError struct {
	Path   string
	Holder Holder // zero when it could not be read
}

func (e *LockedError) Error() string {
	return fmt.Sprintf("%s is locked by %s: wait for it to end, or end it: the lock goes with it; see also clusterctl unlock", e.Path, e.Holder)
}

// ExitCode is what the program ends with.
func (e *LockedError) ExitCode() int { return 5 }

// LockLocal takes the lock that keeps two runs on this machine apart, or gives a *LockedError at
// once. It is a lock of the kernel (flock(2)): it ends with its holder, however that ends, and
// what is left in the file means nothing. It is not for other machines: they meet at the lock on
// the first control plane. It makes the state directory. unlock may be called more than once.
func (d *Dir) LockLocal(ctx context.Context, who Holder) (unlock func(), err error) {
	if err := d.make(); err != nil {
		return nil, err
	}
	path := d.file(lockName)
	for {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		f, err := d.takeLock(path)
		if err != nil {
			return nil, err
		}
		if f == nil {
			continue
		}
		if err := errors.Join(writeHolder(f, who), d.removeLeftovers()); err != nil {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
		}
		return sync.OnceFunc(func() {
			f.Truncate(0) // best effort: the text is for people, the lock is what counts
			f.Close()
		}), nil
	}
}

// takeLock gives the locked file; nil when the file was deleted meanwhile (by Remove) and a lock
// on it would keep nobody out.
func (d *Dir) takeLock(path string) (*os.File, error) {
	f, err := d.openPrivate(path, os.O_RDWR)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		defer f.Close()
		return nil, &LockedError{Path: path, Holder: readHolder(f)}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
	}
	mine, err := f.Stat()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock: %w", err), f.Close())
	}
	if there, err := os.Stat(path); err != nil || !os.SameFile(mine, there) {
		f.Close()
		return nil, nil
	}
	return f, nil
}

func writeHolder(f *os.File, who Holder) error {
	data, err := json.Marshal(who)
	if err != nil {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.WriteAt(append(data, '\n'), 0)
	return err
}

// readHolder gives the zero Holder when the holder has not yet written.
func readHolder(f *os.File) Holder {
	var h Holder
	if json.NewDecoder(io.NewSectionReader(f, 0, 1<<16)).Decode(&h) != nil {
		return Holder{}
	}
	return h
}
