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
	"slices"
	"strings"
)

// write replaces a file of the state as a whole, see replaceFile.
//
// What is there already is not written again. Where the state is shared, the store has the file and
// not the directory.
func (d *Dir) write(name string, data []byte) error {
	if have, found, err := d.read(name); err == nil && found && bytes.Equal(have, data) && !d.isLoose(name) {
		return nil
	}
	if d.shares(name) {
		return d.Shared.Write(name, data)
	}
	if err := d.make(); err != nil {
		return err
	}
	path := d.file(name)
	if d.isLoose(name) { // replaced anyway, but reported
		if err := d.tighten(path, fileMode); err != nil {
			return fmt.Errorf("write %s: %w", path, err)
		}
	}
	if err := replaceFile(path, data); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := syncDir(filepath.Dir(path)); err != nil {
		return fmt.Errorf("write %s: it is in place, but not yet safe on disk: %w", path, err)
	}
	return nil
}

// shares says whether a file belongs to the store. Kubeconfigs are made anew wherever they are needed,
// and backups are as big as etcd.
func (d *Dir) shares(name string) bool {
	return d.Shared != nil && !strings.HasSuffix(name, kubeconfigSuffix) && !strings.HasPrefix(name, backupsName+"/")
}

// mayBeOpen says whether a file holds no secret and may be in Git, which keeps no modes.
func (d *Dir) mayBeOpen(name string) bool { return d.Sealed.on() && slices.Contains(committed, name) }

// isLoose says whether a file of the directory is open to others.
func (d *Dir) isLoose(name string) bool {
	if d.shares(name) || d.mayBeOpen(name) {
		return false
	}
	info, err := os.Stat(d.file(name))
	if err != nil {
		return false
	}
	_, is := loose(d.file(name), info)
	return is
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
	if d.shares(name) {
		return d.Shared.Read(name)
	}
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
