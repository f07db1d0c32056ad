package apply

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"clusterctl/components/resource"
	"clusterctl/phases/plan"
	"clusterctl/provision/host"
	"clusterctl/provision/host/hosttest"
)

// scripted is a fake host that runs the real script on this machine, with its state in a directory
// of the test and systemctl replaced by a function that logs.
func scripted(t *testing.T) (h host.Host, state string, log func() string) {
	t.Helper()
	dir := t.TempDir()
	state = filepath.Join(dir, "state")
	text := strings.Replace(script, "state=/var/lib/clusterctl", "state="+state, 1)
	text = strings.Replace(text, "PATH=/usr/local/sbin", "PATH="+dir+":/usr/local/sbin", 1)
	if text == script {
		t.Fatal("the script's beginning has changed")
	}
	calls := filepath.Join(dir, "calls")
	if err := os.WriteFile(filepath.Join(dir, "systemctl"), []byte("#!/bin/sh\necho \"$*\" >>"+calls+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	f := hosttest.NewFake("cp-1")
	f.Handle(func(ctx context.Context, c host.Cmd) (host.Result, error) {
		cmd := exec.CommandContext(ctx, "sh", "-c", text, "apply")
		cmd.Stdin = c.Stdin
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("script: %v\n%s", err, out)
		}
		if c.Stdout != nil {
			_, err = io.WriteString(c.Stdout, string(out))
		}
		return host.Result{}, err
	}, "sh")
	return f, state, func() string {
		b, _ := os.ReadFile(calls) // none: nothing was called
		return string(b)
	}
}

func TestWhatWasReplacedComesBackAlsoAfterAKilledRun(t *testing.T) {
	h, state, calls := scripted(t)
	dir := t.TempDir()
	unit, added, link := filepath.Join(dir, "x.service"), filepath.Join(dir, "added"), filepath.Join(dir, "link")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	write(unit, "old")
	if err := os.Symlink("old", link); err != nil {
		t.Fatal(err)
	}
	restart := plan.Step{Key: resource.Unit{Host: "cp-1", Name: "x.service"}.Key(), Verb: plan.Restart, Want: resource.Unit{Host: "cp-1", Name: "x.service"}, Have: resource.Fact{Digest: "good"}}
	steps := []plan.Step{step(resource.File{Host: "cp-1", Path: unit}, plan.Update), step(resource.File{Host: "cp-1", Path: added}, plan.Create),
		step(resource.Link{Host: "cp-1", Path: link, Target: "new"}, plan.Update), restart}
	if err := Keep(t.Context(), h, steps); err != nil {
		t.Fatal(err)
	}
	write(unit, "new")
	write(added, "new")
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("new", link); err != nil {
		t.Fatal(err)
	}
	// The run was killed here. The next one has nothing left to write but restarts, in vain.
	if err := Keep(t.Context(), h, steps[3:]); err != nil {
		t.Fatal(err)
	}
	if err := Revert(t.Context(), h, steps[3:]); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(unit)
	info, statErr := os.Stat(unit)
	target, linkErr := os.Readlink(link)
	if err != nil || statErr != nil || linkErr != nil || string(got) != "old" || info.Mode().Perm() != 0o640 || target != "old" {
		t.Errorf("unit file %q %v, link to %q; %v %v %v", got, info.Mode(), target, err, statErr, linkErr)
	}
	if _, err := os.Stat(added); !os.IsNotExist(err) {
		t.Errorf("a file that was not there before: %v", err)
	}
	if !strings.Contains(calls(), "daemon-reload\nrestart x.service") {
		t.Errorf("systemctl was called with\n%s", calls())
	}
	if stamp, err := os.ReadFile(filepath.Join(state, "units", "x.service")); err != nil || string(stamp) != "good\n" {
		t.Errorf("stamp %q, %v", stamp, err)
	}
}

// TestWhatWasKeptIsDroppedOnceTheUnitHadAGoodStart: the way back never leads two versions back.
func TestWhatWasKeptIsDroppedOnceTheUnitHadAGoodStart(t *testing.T) {
	h, state, _ := scripted(t)
	unit := filepath.Join(t.TempDir(), "x.service")
	turn := func(content, digest string, forget bool) {
		t.Helper()
		if err := os.WriteFile(unit, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		u := resource.Unit{Host: "cp-1", Name: "x.service"}
		steps := []plan.Step{step(resource.File{Host: "cp-1", Path: unit}, plan.Update), {Key: u.Key(), Verb: plan.Restart, Want: u, Have: resource.Fact{Digest: digest}}}
		if err := Keep(t.Context(), h, steps); err != nil {
			t.Fatal(err)
		}
		if forget {
			if err := Forget(t.Context(), h, steps); err != nil {
				t.Fatal(err)
			}
			return
		}
		if err := os.WriteFile(unit, []byte("broken"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := Revert(t.Context(), h, steps); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(unit); err != nil || string(got) != content {
			t.Errorf("%q came back, %v, want %q", got, err, content)
		}
	}
	turn("one", "1", true)
	if left, err := os.ReadDir(filepath.Join(state, "former")); err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
	turn("two", "2", false)
	turn("three", "3", false) // what was kept for 2 is not taken for it
}
