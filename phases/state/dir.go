// Package state is the state directory of a cluster, beside its spec file: secrets, inventory,
// identity, journal and the local lock. Hosts are the truth about what is installed; nothing
// here decides that.
//
// [Open] and everything that only reads create and change nothing, so that a plan leaves no trace.
package state

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"clusterctl/provision/event"
)

const (
	rootName = ".clusterctl"

	secretsName   = "secrets"
	sealedName    = "secrets.age"    // the same, encrypted
	readersName   = "recipients.txt" // who can open it, for people and to notice that they changed
	inventoryName = "inventory.json"
	identityName  = "identity.json"
	journalName   = "journal.jsonl"
	lockName      = "lock"

	dirMode  fs.FileMode = 0o700
	fileMode fs.FileMode = 0o600
)

// Dir is the state directory of one cluster. One run changes it at a time, see LockLocal.
type Dir struct {
	// Events hears of modes that were too open. Open sets event.Discard.
	Events event.Sink
	// Shared keeps what several machines share: everything but the journal's local copy, kubeconfigs
	// and the lock. nil: the directory does.
	Shared Store
	// Sealed encrypts the secrets. The zero value leaves them plain.
	Sealed Sealed

	path string
}

// Store keeps small files that several machines share, each replaced as a whole.
type Store interface {
	// Read gives a file; false when it is not there.
	Read(name string) ([]byte, bool, error)
	// Write replaces a file, and refuses when it is not as this Store has last read or written it.
	Write(name string, data []byte) error
	// Remove deletes a file; one that is not there is no error.
	Remove(name string) error
	// List gives the names that begin with prefix, sorted.
	List(prefix string) ([]string, error)
}

// Open names the state directory of cluster, <directory of specPath>/.clusterctl/<cluster>. It
// touches nothing; the directory is made by the first write.
func Open(specPath, cluster string) *Dir {
	return &Dir{
		Events: event.Discard,
		path:   filepath.Join(filepath.Dir(specPath), rootName, cluster),
	}
}

// Path is the directory, whether it exists or not.
func (d *Dir) Path() string { return d.path }

// Exists says whether there is state of this cluster. A shared state that cannot be asked counts as
// one that is there: what reads it says what is wrong.
func (d *Dir) Exists() bool {
	if d.Shared != nil {
		names, err := d.Shared.List("")
		if err != nil || len(names) > 0 {
			return true
		}
	}
	info, err := os.Stat(d.path)
	return err == nil && info.IsDir()
}

func (d *Dir) file(name string) string { return filepath.Join(d.path, name) }

// check keeps a strange cluster name from leading out of the directory.
func (d *Dir) check() error {
	if filepath.Base(filepath.Dir(d.path)) != rootName || !plainElement(filepath.Base(d.path)) {
		return fmt.Errorf("state directory %s: the cluster's name must be one plain path element", d.path)
	}
	return nil
}

// plainElement says whether name is one visible path element.
func plainElement(name string) bool {
	return name != "" && !strings.HasPrefix(name, ".") && name == filepath.Base(name) && name != string(filepath.Separator)
}

// make creates the directory, mode 0700 whatever the umask is, and tightens it where it is
// looser.
func (d *Dir) make() error {
	if err := d.check(); err != nil {
		return err
	}
	for _, path := range []string{filepath.Dir(d.path), d.path} {
		err := os.Mkdir(path, dirMode)
		if err == nil {
			err = errors.Join(os.Chmod(path, dirMode), syncDir(filepath.Dir(path)))
		} else if errors.Is(err, fs.ErrExist) && d.Sealed.on() {
			err = nil // it may come out of Git, which keeps no modes; what is secret in it is encrypted or has a mode of its own
		} else if errors.Is(err, fs.ErrExist) {
			err = d.tighten(path, dirMode)
		}
		if err != nil {
			return fmt.Errorf("state directory %s: %w", path, err)
		}
	}
	return d.ignore()
}

func isSecrets(name string) bool { return name == secretsName || name == sealedName }

// removeShared empties the store, secrets last.
func (d *Dir) removeShared() error {
	if d.Shared == nil {
		return nil
	}
	names, err := d.Shared.List("")
	if err != nil {
		return fmt.Errorf("remove state: %w", err)
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(last(a), last(b)) })
	for _, name := range names {
		if err := d.Shared.Remove(name); err != nil {
			return fmt.Errorf("remove state: %w", err)
		}
	}
	return nil
}

func last(name string) int {
	if isSecrets(name) {
		return 1
	}
	return 0
}

// Remove deletes the state, secrets last: a run that is cut off in between leaves what the next
// one needs to go on. Nothing to remove is no error.
func (d *Dir) Remove() error {
	if err := d.check(); err != nil {
		return err
	}
	if err := d.removeShared(); err != nil {
		return err
	}
	entries, err := os.ReadDir(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove state: %w", err)
	}
	for _, e := range entries {
		if isSecrets(e.Name()) || e.Name() == lockName {
			continue
		}
		if err := os.RemoveAll(d.file(e.Name())); err != nil {
			return fmt.Errorf("remove state: %w", err)
		}
	}
	for _, path := range []string{d.file(secretsName), d.file(sealedName), d.file(lockName), d.path} {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("remove state: %w", err)
		}
	}
	root := filepath.Dir(d.path)
	if rest, err := os.ReadDir(root); err == nil && len(rest) == 1 && rest[0].Name() == ignoreName {
		if err := os.Remove(filepath.Join(root, ignoreName)); err != nil {
			return fmt.Errorf("remove state: %w", err)
		}
	}
	if err := os.Remove(root); err == nil { // fails, rightly, while another cluster's state is in it
		root = filepath.Dir(root)
	}
	return syncDir(root)
}
