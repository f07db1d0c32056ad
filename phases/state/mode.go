package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"clusterctl/provision/event"
)

// LooseMode is a file or directory that others than its owner may use.
type LooseMode struct {
	Path       string
	Have, Want fs.FileMode
}

func (l LooseMode) String() string {
	return fmt.Sprintf("%s has mode %04o, it must be %04o", l.Path, l.Have, l.Want)
}

// Loose lists everything in the state directory whose mode is too open, in the order of names.
// It changes nothing; without a directory there is nothing.
func (d *Dir) Loose() ([]LooseMode, error) {
	var out []LooseMode
	err := filepath.WalkDir(d.path, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.Type()&fs.ModeSymlink != 0 {
			return nil // the mode of a link means nothing
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if l, ok := loose(path, info); ok {
			out = append(out, l)
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look at modes in the state directory: %w", err)
	}
	return out, nil
}

// loose: anything for group or others is too much.
func loose(path string, info fs.FileInfo) (LooseMode, bool) {
	want := fileMode
	if info.IsDir() {
		want = dirMode
	}
	have := info.Mode().Perm()
	return LooseMode{Path: path, Have: have, Want: want}, have&0o077 != 0
}

// Tighten sets the modes of everything that Loose lists and reports each to Events.
func (d *Dir) Tighten() error {
	list, err := d.Loose()
	if err != nil {
		return err
	}
	for _, l := range list {
		if err := d.tighten(l.Path, l.Want); err != nil {
			return fmt.Errorf("tighten the state directory: %w", err)
		}
	}
	return nil
}

// tighten sets the mode of path when it is open to others, and reports it.
func (d *Dir) tighten(path string, want fs.FileMode) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	l, ok := loose(path, info)
	if !ok {
		return nil
	}
	if err := os.Chmod(path, want); err != nil {
		return err
	}
	d.Events.Emit(event.Event{Time: time.Now(), Kind: event.Warning, Text: fmt.Sprintf("%s had mode %04o and was open to others, now %04o", path, l.Have, want)})
	return nil
}
