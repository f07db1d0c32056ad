package hosttest

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"clusterctl/provision/host"
)

func newReader(b []byte) io.Reader { return bytes.NewReader(b) }

// printed gives output where the caller wants it.
func printed(c host.Cmd, out []byte) (host.Result, error) {
	if c.Stdout == nil {
		return host.Result{Stdout: out}, nil
	}
	_, err := c.Stdout.Write(out)
	return host.Result{}, err
}

// builtin plays the few commands that look at files.
func (f *Fake) builtin(c host.Cmd) (host.Result, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out bytes.Buffer
	code, reason := f.play(&out, c.Args)
	if code != 0 {
		return host.Result{Stderr: []byte(reason)}, &host.ExitError{Host: f.name, Args: c.Args, Code: code, Stderr: reason}
	}
	return printed(c, out.Bytes())
}

func (f *Fake) play(out *bytes.Buffer, args []string) (code int, reason string) {
	rest := args[1:]
	switch args[0] {
	case "true":
	case "false":
		return 1, ""
	case "echo":
		fmt.Fprintln(out, strings.Join(rest, " "))
	case "cat", "sha256sum":
		return f.eachFile(rest, func(p string, file FakeFile) {
			if args[0] == "cat" {
				out.Write(file.Content)
			} else {
				fmt.Fprintf(out, "%x  %s\n", sha256.Sum256(file.Content), p)
			}
		})
	case "ls":
		f.list(out, rest[len(rest)-1])
	case "stat":
		return f.stat(out, rest)
	case "test":
		if !f.exists(rest[len(rest)-1]) {
			return 1, ""
		}
	case "mkdir":
		f.makeDirs(rest[len(rest)-1])
	case "rm":
		for _, p := range rest {
			f.remove(p)
		}
	default:
		return 127, args[0] + ": not found\n"
	}
	return 0, ""
}

func (f *Fake) eachFile(paths []string, do func(string, FakeFile)) (code int, reason string) {
	for _, p := range paths {
		file, ok := f.files[p]
		if !ok {
			return 1, p + ": No such file or directory\n"
		}
		do(p, file)
	}
	return 0, ""
}

// list prints the names in a directory.
func (f *Fake) list(out *bytes.Buffer, dir string) {
	names := make(map[string]struct{})
	for p := range f.files {
		if path.Dir(p) == dir {
			names[path.Base(p)] = struct{}{}
		}
	}
	for p := range f.dirs {
		if path.Dir(p) == dir && p != "/" {
			names[path.Base(p)] = struct{}{}
		}
	}
	for _, n := range slices.Sorted(maps.Keys(names)) {
		fmt.Fprintln(out, n)
	}
}

// stat plays stat -c FORMAT PATH... with %a, %U:%G and %s.
func (f *Fake) stat(out *bytes.Buffer, args []string) (code int, reason string) {
	if len(args) < 3 || args[0] != "-c" {
		return 2, "stat: only -c FORMAT PATH is known\n"
	}
	for _, p := range args[2:] {
		file, ok := f.files[p]
		if mode, isDir := f.dirs[p]; !ok && isDir {
			file, ok = FakeFile{Mode: mode, Owner: "root:root"}, true
		}
		if !ok {
			return 1, p + ": No such file or directory\n"
		}
		fmt.Fprintln(out, strings.NewReplacer(
			"%a", fmt.Sprintf("%o", file.Mode), "%U:%G", file.Owner, "%s", fmt.Sprint(len(file.Content))).Replace(args[1]))
	}
	return 0, ""
}

func (f *Fake) exists(p string) bool {
	_, isFile := f.files[p]
	_, isDir := f.dirs[p]
	return isFile || isDir
}

// remove deletes a file, or a directory with all that is in it.
func (f *Fake) remove(p string) {
	inside := func(q string) bool { return q == p || strings.HasPrefix(q, p+"/") }
	maps.DeleteFunc(f.files, func(q string, _ FakeFile) bool { return inside(q) })
	for q := range f.dirs {
		if inside(q) {
			delete(f.dirs, q)
		}
	}
}
