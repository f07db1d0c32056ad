package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// tmpMark is in the names of files that are being written.
const tmpMark = ".new-"

// removeLeftovers deletes what runs that were killed had begun to write: keys may be in it. Only
// the holder of the lock may.
func (d *Dir) removeLeftovers() error {
	entries, err := os.ReadDir(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	for _, e := range entries {
		if e.Type().IsRegular() && strings.HasPrefix(e.Name(), ".") && strings.Contains(e.Name(), tmpMark) {
			if err := os.Remove(d.file(e.Name())); err != nil {
				return fmt.Errorf("remove what a killed run left: %w", err)
			}
		}
	}
	return nil
}

// replaceFile replaces a file as a whole, with mode 0600: after a crash at any moment it is the old
// one or the new one. It is created under another name; the umask can only take bits away, and those
// are given back before the rename.
func replaceFile(path string, data []byte) (err error) {
	dir, name := filepath.Split(path)
	tmp, err := os.CreateTemp(dir, "."+strings.TrimPrefix(name, ".")+tmpMark+"*") // mode 0600, exclusive
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(tmp.Name()))
		}
	}()
	if err := fill(tmp, data); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
