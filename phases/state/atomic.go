package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// write replaces a file of the directory as a whole: after a crash at any moment it is the old
// one or the new one. It is created with mode 0600 under another name; the umask can only take
// bits away, and those are given back before the rename.
func (d *Dir) write(name string, data []byte) (err error) {
	if err := d.make(); err != nil {
		return err
	}
	path := d.file(name)
	if err := d.tighten(path, fileMode); err != nil { // replaced anyway, but reported
		return fmt.Errorf("write %s: %w", path, err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(name)+".*") // mode 0600, exclusive
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("write %s: %w", path, errors.Join(err, os.Remove(tmp.Name())))
		}
	}()
	if err := fill(tmp, data); err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return err
	}
	if err := syncDir(filepath.Dir(path)); err != nil {
		return fmt.Errorf("it is in place, but not yet safe on disk: %w", err)
	}
	return nil
}

// fill writes and closes f.
func fill(f *os.File, data []byte) error {
	err := f.Chmod(fileMode)
	if err == nil {
		_, err = f.Write(data)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// openPrivate opens a file that is written in place, and creates it with mode 0600 whatever the
// umask is.
func (d *Dir) openPrivate(path string, flag int) (*os.File, error) {
	if err := d.tighten(path, fileMode); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, flag|os.O_CREATE, fileMode)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Mode().Perm() != fileMode { // the umask took bits away
		err = f.Chmod(fileMode)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// syncDir makes renames in a directory last.
func syncDir(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// read gives a file's bytes; false when it is not there.
func (d *Dir) read(name string) ([]byte, bool, error) {
	data, err := os.ReadFile(filepath.Join(d.path, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read state: %w", err)
	}
	return data, true, nil
}

func (d *Dir) writeJSON(name string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	return d.write(name, append(data, '\n'))
}

// readJSON fills v; false when the file is not there.
func (d *Dir) readJSON(name string, v any) (bool, error) {
	data, ok, err := d.read(name)
	if err != nil || !ok {
		return false, err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	err = dec.Decode(v)
	if err == nil {
		if _, more := dec.Token(); more != io.EOF {
			err = errors.New("there is more after the end")
		}
	}
	if err != nil {
		return false, fmt.Errorf("%s is damaged: %w: restore it from a backup", d.file(name), err)
	}
	return true, nil
}
