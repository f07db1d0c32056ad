// Package state is the state directory of a cluster, beside its spec file: secrets, inventory,
// identity, journal and the local lock. Hosts are the truth about what is installed; nothing
// here decides that.
//
// [Open] and everything that only reads create and change nothing, so that a plan leaves no trace.
package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"clusterctl/provision/event"
)

const (
	rootName = ".clusterctl"

	secretsName   = "secrets"
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

	path string
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

// Exists says whether there is state of this cluster.
func (d *Dir) Exists() bool {
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
		} else if errors.Is(err, fs.ErrExist) {
			err = d.tighten(path, dirMode)
		}
		if err != nil {
			return fmt.Errorf("state directory %s: %w", path, err)
		}
	}
	return d.ignore()
}

// ignoreName keeps the state of all clusters out of Git: whoever has it owns the clusters.
const ignoreName = ".gitignore"

func (d *Dir) ignore() error {
	path := filepath.Join(filepath.Dir(d.path), ignoreName)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("keep the state out of Git: %w", err)
	}
	_, err = f.WriteString("*\n")
	return errors.Join(err, f.Chmod(0o600), f.Close()) // whatever the umask is
}

// Remove deletes the state, secrets last: a run that is cut off in between leaves what the next
// one needs to go on. Nothing to remove is no error.
func (d *Dir) Remove() error {
	if err := d.check(); err != nil {
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
		if e.Name() == secretsName || e.Name() == lockName {
			continue
		}
		if err := os.RemoveAll(d.file(e.Name())); err != nil {
			return fmt.Errorf("remove state: %w", err)
		}
	}
	for _, path := range []string{d.file(secretsName), d.file(lockName), d.path} {
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
