package hosttest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"sync"
	"testing"

	"clusterctl/provision/host"
)

// Content makes a host.File of bytes in memory.
func Content(path string, mode fs.FileMode, content []byte) host.File {
	sum := sha256.Sum256(content)
	return host.File{
		Path: path, Mode: mode, Size: int64(len(content)), SHA256: hex.EncodeToString(sum[:]),
		Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil },
	}
}

func (s Subject) file(name string, mode fs.FileMode, content string) host.File {
	f := Content(path.Join(s.Dir, name), mode, []byte(content))
	f.Owner = s.Owner
	return f
}

func (s Subject) put(t *testing.T, files ...host.File) {
	t.Helper()
	if err := s.Host.Put(t.Context(), files...); err != nil {
		t.Fatal(err)
	}
}

// output runs a command that must succeed.
func (s Subject) output(t *testing.T, args ...string) string {
	t.Helper()
	r, err := s.Host.Run(t.Context(), host.Cmd{Args: args, Root: true})
	if err != nil {
		t.Fatal(err)
	}
	return string(r.Stdout)
}

func (s Subject) wantContent(t *testing.T, f host.File, want string) {
	t.Helper()
	if got := s.output(t, "cat", f.Path); got != want {
		t.Errorf("%s holds %q, want %q", f.Path, got, want)
	}
}

func (s Subject) wantNames(t *testing.T, want ...string) {
	t.Helper()
	got := s.output(t, "ls", "-A", s.Dir)
	if want := strings.Join(want, "\n") + "\n"; got != want {
		t.Errorf("the directory holds %q, want %q", got, want)
	}
}

func putSetsContentModeAndOwner(t *testing.T, s Subject) {
	owner := s.Owner
	if owner == "" {
		owner = "root:root"
	}
	for _, mode := range []fs.FileMode{0o600, 0o644, 0o755, 0o400} {
		f := s.file(fmt.Sprintf("f%o", mode), mode, "content\n")
		s.put(t, f)
		s.wantContent(t, f, "content\n")
		if got, want := s.output(t, "stat", "-c", "%a %U:%G %s", f.Path), fmt.Sprintf("%o %s 8\n", mode, owner); got != want {
			t.Errorf("stat %s: %q, want %q", f.Path, got, want)
		}
	}
}

func hostileTexts() []string {
	return []string{
		"with space", " lead and trail ", "new\nline", "tab\t", `quo'te"s`, `$HOME $(id) ${x} *?[a]`, "`id`",
		`back\slash\n\0101`, "-rf", "--", "ünïcode ☃", "semi;colon & pipe | > <", "!history!", "#", "~", "%s%b",
		"\x01\x7f\xff",
	}
}

func putTakesHostileNames(t *testing.T, s Subject) {
	var files []host.File
	for i, name := range hostileTexts() {
		files = append(files, s.file(name, 0o644, fmt.Sprint(i)))
	}
	s.put(t, files...)
	s.put(t, files...)
	for i, f := range files {
		s.wantContent(t, f, fmt.Sprint(i))
	}
}

func putMakesParentsReadable(t *testing.T, s Subject) {
	f := s.file("a/b c/file", 0o600, "x")
	s.put(t, f)
	s.wantContent(t, f, "x")
	if got := s.output(t, "stat", "-c", "%a", path.Join(s.Dir, "a"), path.Join(s.Dir, "a/b c")); got != "755\n755\n" {
		t.Errorf("modes of the parents: %q, want 755", got)
	}
}

func putReplacesContentAndMode(t *testing.T, s Subject) {
	s.put(t, s.file("f", 0o755, "the old and longer content"))
	f := s.file("f", 0o600, "")
	s.put(t, f)
	s.wantContent(t, f, "")
	if got := s.output(t, "stat", "-c", "%a", f.Path); got != "600\n" {
		t.Errorf("mode: %q, want 600", got)
	}
	s.wantNames(t, "f")
}

func putInstallsManyFiles(t *testing.T, s Subject) {
	var files []host.File
	for i := range 40 {
		files = append(files, s.file(fmt.Sprintf("d%d/f", i), 0o644, strings.Repeat("line\n", i*i)))
	}
	s.put(t, files...)
	for i, f := range files {
		s.wantContent(t, f, strings.Repeat("line\n", i*i))
	}
}

func putCarriesBigFiles(t *testing.T, s Subject) {
	content := bytes.Repeat([]byte("0123456789abcdeX"), 64<<20/16)
	content = append(content, 'e', 'n', 'd') // no multiple of a block
	big := Content(path.Join(s.Dir, "big"), 0o755, content)
	big.Owner = s.Owner
	s.put(t, big, s.file("after", 0o644, "after"))
	if got := s.output(t, "sha256sum", big.Path); !strings.HasPrefix(got, big.SHA256) {
		t.Errorf("digest on the host: %q, want %s", got, big.SHA256)
	}
	s.wantNames(t, "after", "big")
}

func putRefusesRelativePaths(t *testing.T, s Subject) {
	for _, p := range []string{"", "relative", "/", s.Dir + "/../x", s.Dir + "/x/"} {
		f := s.file("x", 0o644, "x")
		f.Path = p
		if err := s.Host.Put(t.Context(), f); err == nil {
			t.Errorf("Put to %q was accepted", p)
		}
	}
}

// wantOld puts an old file, then bad, which must fail and change nothing.
func (s Subject) wantOld(t *testing.T, bad host.File) error {
	t.Helper()
	old := s.file("f", 0o644, "old")
	s.put(t, old)
	err := s.Host.Put(t.Context(), bad)
	if err == nil {
		t.Error("Put succeeded")
	} else if !strings.Contains(err.Error(), bad.Path) {
		t.Errorf("error %q does not name the file", err)
	}
	s.wantContent(t, old, "old")
	s.wantNames(t, "f")
	return err
}

func putOfWrongDigestLeavesOld(t *testing.T, s Subject) {
	f := s.file("f", 0o644, "new")
	f.SHA256 = strings.Repeat("0", 64)
	s.wantOld(t, f)
}

func putOfWrongSizeLeavesOld(t *testing.T, s Subject) {
	for _, by := range []int64{-1, 1} {
		f := s.file("f", 0o644, "new")
		f.Size += by
		s.wantOld(t, f)
	}
}

var errSource = errors.New("the source is broken") // compared only

func putOfBrokenSourceLeavesOld(t *testing.T, s Subject) {
	f := s.file("f", 0o644, "new")
	f.Open = func() (io.ReadCloser, error) { return nil, errSource }
	if err := s.wantOld(t, f); !errors.Is(err, errSource) {
		t.Errorf("error %v, want the source's", err)
	}
	f.Open = func() (io.ReadCloser, error) {
		return io.NopCloser(io.MultiReader(strings.NewReader("n"), brokenReader{})), nil
	}
	if err := s.wantOld(t, f); !errors.Is(err, errSource) {
		t.Errorf("error %v, want the source's", err)
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errSource }

func putInstallsWhatCameBefore(t *testing.T, s Subject) {
	first, bad, last := s.file("1", 0o644, "one"), s.file("2", 0o644, "two"), s.file("3", 0o644, "three")
	bad.SHA256 = strings.Repeat("f", 64)
	if err := s.Host.Put(t.Context(), first, bad, last); err == nil || !strings.Contains(err.Error(), bad.Path) {
		t.Errorf("error %v, want one that names %s", err, bad.Path)
	}
	s.wantNames(t, "1")
}

// HalfWay makes a copy of f whose source calls at when half of it was read, and then ends
// with what that returns, or goes on when it returns nil.
func HalfWay(f host.File, at func() error) host.File {
	open := f.Open
	f.Open = func() (io.ReadCloser, error) {
		r, err := open()
		if err != nil {
			return nil, err
		}
		return struct {
			io.Reader
			io.Closer
		}{io.MultiReader(io.LimitReader(r, f.Size/2), &callReader{call: at}, r), r}, nil
	}
	return f
}

// callReader calls once and gives no bytes.
type callReader struct{ call func() error }

func (c *callReader) Read([]byte) (int, error) {
	if err := c.call(); err != nil {
		return 0, err
	}
	return 0, io.EOF
}

func cancelledPutLeavesOld(t *testing.T, s Subject) {
	old := s.file("f", 0o644, "old")
	s.put(t, old)
	ctx, cancel := context.WithCancel(t.Context())
	f := HalfWay(s.file("f", 0o644, strings.Repeat("new", 1<<20)), func() error {
		cancel()
		<-ctx.Done()
		select {} // a source that hangs must not hold up Put
	})
	if err := s.Host.Put(ctx, f); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
	s.wantContent(t, old, "old")
	next := s.file("f", 0o644, "next")
	s.put(t, next)
	s.wantContent(t, next, "next")
	s.wantNames(t, "f")
}

func putOverDirectoryRefused(t *testing.T, s Subject) {
	s.put(t, s.file("d/f", 0o644, "x"))
	f := s.file("d", 0o644, "y")
	if err := s.Host.Put(t.Context(), f); err == nil || !strings.Contains(err.Error(), f.Path) {
		t.Errorf("error %v, want a refusal that names %s", err, f.Path)
	}
	s.wantNames(t, "d")
}

func putFromManyGoroutines(t *testing.T, s Subject) {
	var wg sync.WaitGroup
	for i := range 24 {
		wg.Go(func() {
			f := s.file(fmt.Sprintf("f%d", i), 0o644, strings.Repeat(fmt.Sprint(i), 10_000))
			if err := s.Host.Put(t.Context(), f); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for i := range 24 {
		s.wantContent(t, s.file(fmt.Sprintf("f%d", i), 0, ""), strings.Repeat(fmt.Sprint(i), 10_000))
	}
}
