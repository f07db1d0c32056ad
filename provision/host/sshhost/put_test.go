package sshhost_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"clusterctl/provision/host"
	"clusterctl/provision/host/hosttest"
	"clusterctl/provision/host/sshhost"
)

// putHost is a host of this machine and a directory on it.
func putHost(t *testing.T) (*sshhost.Host, *hosttest.Server, string) {
	t.Helper()
	s := hosttest.NewServer(t, hosttest.ServerOptions{})
	inv := s.Inventory("h1")
	inv.SSH.KeyPath = keyFile(t, "")
	return open(t, inv, sshhost.Options{}), s, t.TempDir()
}

func ownFile(t *testing.T, path string, mode fs.FileMode, content string) host.File {
	t.Helper()
	f := hosttest.Content(path, mode, []byte(content))
	f.Owner = selfOwner(t)
	return f
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestOneSessionForAllFilesOfAPut(t *testing.T) {
	h, s, dir := putHost(t)
	var files []host.File
	for i := range 100 { // more than one batch
		files = append(files, ownFile(t, filepath.Join(dir, fmt.Sprintf("%03d", i)), 0o644, fmt.Sprint(i)))
	}
	if err := h.Put(t.Context(), files...); err != nil {
		t.Fatal(err)
	}
	if s.Execs() != 1 {
		t.Errorf("%d sessions, want 1", s.Execs())
	}
	if got := len(names(t, dir)); got != 100 {
		t.Errorf("%d files, want 100", got)
	}
}

func TestSecretFileIsNeverReadableByOthers(t *testing.T) {
	h, _, dir := putHost(t)
	seen := false
	f := hosttest.HalfWay(ownFile(t, filepath.Join(dir, "key"), 0o600, strings.Repeat("secret", 1<<20)), func() error {
		for _, name := range names(t, dir) {
			info, err := os.Stat(filepath.Join(dir, name))
			if err != nil {
				return err
			}
			seen = true
			if info.Mode().Perm() != 0o600 {
				t.Errorf("%s has mode %o while it is sent", name, info.Mode().Perm())
			}
			if !strings.HasPrefix(name, ".key.clusterctl-") {
				t.Errorf("the temporary file is called %s", name)
			}
		}
		return nil
	})
	if err := h.Put(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	if !seen {
		t.Error("no temporary file was seen")
	}
}

func TestLeftoversOfACutUploadAreRemoved(t *testing.T) {
	h, _, dir := putHost(t)
	// A process number that is not in use, one of a process that is no upload, and odd ones.
	for _, suffix := range []string{"4194305.0", fmt.Sprintf("%d.3", os.Getpid()), "x", ""} {
		if err := os.WriteFile(filepath.Join(dir, ".program.clusterctl-"+suffix), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, other := range []string{".program.clusterctl", ".other.clusterctl-4194305.0", "program.old"} {
		if err := os.WriteFile(filepath.Join(dir, other), []byte("keep"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Put(t.Context(), ownFile(t, filepath.Join(dir, "program"), 0o755, "new")); err != nil {
		t.Fatal(err)
	}
	want := ".other.clusterctl-4194305.0 .program.clusterctl program program.old"
	if got := strings.Join(names(t, dir), " "); got != want {
		t.Errorf("the directory holds %s, want %s", got, want)
	}
}

func TestSymbolicLinkIsReplacedNotFollowed(t *testing.T) {
	h, _, dir := putHost(t)
	precious := filepath.Join(dir, "precious")
	if err := os.WriteFile(precious, []byte("precious"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(precious, filepath.Join(dir, "f")); err != nil {
		t.Fatal(err)
	}
	if err := h.Put(t.Context(), ownFile(t, filepath.Join(dir, "f"), 0o644, "new")); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(precious); err != nil || string(got) != "precious" {
		t.Errorf("the link's target holds %q, %v", got, err)
	}
}

func TestFullDiskIsToldAndLeavesTheOldFile(t *testing.T) {
	h, _, dir := putHost(t)
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("no small file system: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	path := filepath.Join(dir, "program")
	if err := h.Put(t.Context(), ownFile(t, path, 0o755, strings.Repeat("o", 1<<20))); err != nil {
		t.Fatal(err)
	}
	small := func(i int) host.File {
		return ownFile(t, filepath.Join(dir, fmt.Sprint(i)), 0o644, strings.Repeat("x", 900<<10))
	}
	for name, files := range map[string][]host.File{
		"known beforehand":  {ownFile(t, path, 0o755, strings.Repeat("n", 3<<20))},
		"found out writing": {small(1), small(2)},
	} {
		t.Run(name, func(t *testing.T) {
			err := h.Put(t.Context(), files...)
			var full *host.NoSpaceError
			last := files[len(files)-1]
			if !errors.As(err, &full) || full.Host != "h1" || full.Path != last.Path || full.Need != last.Size || full.Free <= 0 || full.Free >= full.Need {
				t.Fatalf("error %#v", err)
			}
			if got, err := os.ReadFile(path); err != nil || string(got) != strings.Repeat("o", 1<<20) {
				t.Errorf("the old file has %d bytes, %v", len(got), err)
			}
		})
	}
	if got := strings.Join(names(t, dir), " "); got != "1 program" {
		t.Errorf("the directory holds %s", got)
	}
}

func TestUnknownOwnerIsToldWithTheFile(t *testing.T) {
	h, _, dir := putHost(t)
	good := ownFile(t, filepath.Join(dir, "good"), 0o644, "x")
	bad := ownFile(t, filepath.Join(dir, "bad"), 0o644, "x")
	bad.Owner = "nobody-has-this-name:root"
	err := h.Put(t.Context(), good, bad)
	var upload *host.UploadError
	if !errors.As(err, &upload) || upload.Path != bad.Path || !strings.Contains(err.Error(), "nobody-has-this-name") {
		t.Errorf("error %v", err)
	}
	if got := names(t, dir); len(got) > 1 {
		t.Errorf("the directory holds %v", got)
	}
}

func TestBadFilesAreRefusedBeforeAnythingIsSent(t *testing.T) {
	h, s, dir := putHost(t)
	for name, change := range map[string]func(*host.File){
		"digest":     func(f *host.File) { f.SHA256 = "abc" },
		"upper case": func(f *host.File) { f.SHA256 = strings.ToUpper(f.SHA256) },
		"owner":      func(f *host.File) { f.Owner = "a b" },
		"option":     func(f *host.File) { f.Owner = "--reference=/etc/shadow" },
		"NUL":        func(f *host.File) { f.Path += "\x00x" },
		"no content": func(f *host.File) { f.Open = nil },
	} {
		f := ownFile(t, filepath.Join(dir, "f"), 0o644, "content")
		change(&f)
		if err := h.Put(t.Context(), f); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if s.Startups() != 0 {
		t.Errorf("%d connections were made", s.Startups())
	}
}
