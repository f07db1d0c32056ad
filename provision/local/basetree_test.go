package local

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"clusterctl/provision/event"
)

func TestRecipeHashChangesWithItsContent(t *testing.T) {
	a, err := baseRecipe()
	if err != nil {
		t.Fatal(err)
	}
	b, err := baseRecipe()
	if err != nil {
		t.Fatal(err)
	}
	hash := func(r recipe) string {
		h, err := r.hash()
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	if hash(a) != hash(b) {
		t.Error("one recipe has two hashes")
	}
	b.Files["/etc/ssh/sshd_config.d/clusterctl.conf"] += "\n"
	if hash(a) == hash(b) {
		t.Error("a changed file does not change the hash")
	}
}

func TestFinishStaysInsideTheTree(t *testing.T) {
	dir := t.TempDir()
	tree, outside := filepath.Join(dir, "tree"), filepath.Join(dir, "outside")
	for _, d := range []string{tree, outside} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(tree, "etc")); err != nil {
		t.Fatal(err)
	}
	r := recipe{Files: map[string]string{"/etc/x": "x"}}
	if err := r.finish(tree); err == nil {
		t.Error("a link out of the tree is no error")
	}
	if left, _ := os.ReadDir(outside); len(left) > 0 {
		t.Errorf("written outside of the tree: %v", left)
	}
}

func TestFinishRemovesWhatEveryHostHasOfItsOwn(t *testing.T) {
	tree := t.TempDir()
	for _, f := range []string{"etc/ssh/ssh_host_rsa_key", "etc/machine-id", "usr/lib/sysctl.d/50-default.conf", "usr/bin/x"} {
		if err := os.MkdirAll(filepath.Join(tree, filepath.Dir(f)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(tree, f), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r, err := baseRecipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.finish(tree); err != nil {
		t.Fatal(err)
	}
	for f, want := range map[string]bool{
		"etc/ssh/ssh_host_rsa_key": false, "etc/machine-id": false, "usr/lib/sysctl.d/50-default.conf": false,
		"usr/bin/x": true, "etc/systemd/system/ssh.service": true, "var/lib/etcd": true,
	} {
		if _, err := os.Lstat(filepath.Join(tree, f)); (err == nil) != want {
			t.Errorf("%s: there is %v, want %v", f, err == nil, want)
		}
	}
	if to, err := os.Readlink(filepath.Join(tree, "etc/systemd/system/getty@.service")); err != nil || to != "/dev/null" {
		t.Errorf("getty@.service: %s %v", to, err)
	}
}

func TestDebootstrapLinesBecomeFewNotes(t *testing.T) {
	var notes []string
	to := event.Func(func(e event.Event) { notes = append(notes, e.Text) })
	last := reportPhases(strings.NewReader("I: Retrieving a\nI: Retrieving b\nW: hm\nI: Unpacking a\nI: Unpacking b\nE: broken\n"), to)
	if want := []string{"debootstrap: Retrieving a", "debootstrap: Unpacking a"}; strings.Join(notes, "|") != strings.Join(want, "|") {
		t.Errorf("notes %q, want %q", notes, want)
	}
	if last[len(last)-1] != "E: broken" {
		t.Errorf("the error is not among the last lines: %q", last)
	}
}
