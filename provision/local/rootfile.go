package local

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
)

// putFile writes a file inside root unless it is there with that content and mode already: to a
// temporary name first, then renamed.
func putFile(root *os.Root, name string, data []byte, mode fs.FileMode) error {
	name = strings.TrimPrefix(name, "/")
	if have, err := root.ReadFile(name); err == nil && bytes.Equal(have, data) {
		return root.Chmod(name, mode)
	}
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	tmp := name + ".clusterctl-tmp"
	if err := root.WriteFile(tmp, data, 0o600); err != nil {
		return err
	}
	if err := root.Chmod(tmp, mode); err != nil {
		return err
	}
	return root.Rename(tmp, name)
}

// putLink makes a symbolic link inside root in place of whatever has the name.
func putLink(root *os.Root, name, target string) error {
	name = strings.TrimPrefix(name, "/")
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return root.Symlink(target, name)
}

// putOnce writes a file inside root unless one of that name is there.
func putOnce(root *os.Root, name string, data []byte, mode fs.FileMode) error {
	_, err := root.Lstat(strings.TrimPrefix(name, "/"))
	if errors.Is(err, fs.ErrNotExist) {
		return putFile(root, name, data, mode)
	}
	return err
}

// putLines adds the lines that a file inside root does not have yet, and keeps the others.
func putLines(root *os.Root, name string, lines []string, mode fs.FileMode) error {
	have, err := root.ReadFile(strings.TrimPrefix(name, "/"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return putFile(root, name, addLines(have, lines), mode)
}

func addLines(have []byte, lines []string) []byte {
	out := bytes.Clone(have)
	if len(out) > 0 && out[len(out)-1] != '\n' {
		out = append(out, '\n')
	}
	for _, line := range lines {
		if !bytes.Contains(append([]byte("\n"), out...), []byte("\n"+line+"\n")) {
			out = append(append(out, line...), '\n')
		}
	}
	return out
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
