package state

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// backupsName is the directory of etcd's snapshots, each with a .json beside it that says what it
// is.
const backupsName = "backups"

// Backup is a snapshot that is being written. It has its name only when it is whole.
type Backup struct {
	*os.File
	dir  *Dir
	name string
}

// NewBackup begins a backup. Commit or Discard must be called.
func (d *Dir) NewBackup(name string) (*Backup, error) {
	if !plainElement(name) {
		return nil, fmt.Errorf("backup %q: the name must be one plain path element", name)
	}
	if err := d.make(); err != nil {
		return nil, err
	}
	dir := d.file(backupsName)
	if err := os.Mkdir(dir, dirMode); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("make the directory of backups: %w", err)
	}
	if err := d.tighten(dir, dirMode); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(dir, "."+name+".*") // mode 0600, exclusive
	if err != nil {
		return nil, fmt.Errorf("write backup: %w", err)
	}
	return &Backup{File: f, dir: d, name: name}, nil
}

// Commit makes the backup last, writes what is said of it beside it, and gives its path.
func (b *Backup) Commit(about any) (string, error) {
	path := filepath.Join(b.dir.file(backupsName), b.name)
	err := errors.Join(b.Chmod(fileMode), b.Sync(), b.Close())
	if err == nil {
		err = b.dir.writeJSON(filepath.Join(backupsName, b.name+".json"), about)
	}
	if err == nil {
		err = os.Rename(b.Name(), path)
	}
	if err != nil {
		return "", fmt.Errorf("keep backup %s: %w", path, errors.Join(err, os.Remove(b.Name())))
	}
	return path, syncDir(filepath.Dir(path))
}

// Discard takes away what was written.
func (b *Backup) Discard() error { return errors.Join(b.Close(), os.Remove(b.Name())) }
