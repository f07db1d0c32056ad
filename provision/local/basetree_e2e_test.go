//go:build e2e

package local

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"clusterctl/provision/event"

	"golang.org/x/sync/errgroup"
)

// fakeDebootstrap puts a script in debootstrap's place; its last argument is the directory.
func fakeDebootstrap(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "debootstrap"), []byte("#!/bin/sh\nfor d; do :; done\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

func TestTwoBuildersMakeOneBaseTree(t *testing.T) {
	cache := t.TempDir()
	runs := filepath.Join(cache, "runs")
	fakeDebootstrap(t, `echo run >> `+runs+`; mkdir "$d/etc"; mount -t tmpfs tmpfs "$d/etc"; umount "$d/etc"`)
	var g errgroup.Group
	for range 3 {
		g.Go(func() error {
			_, err := New(Options{CacheDir: cache}).ensureBase(t.Context(), event.Discard)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(runs); err != nil || string(data) != "run\n" {
		t.Errorf("debootstrap ran: %q %v", data, err)
	}
}

func TestHalfABaseTreeIsNeverUsed(t *testing.T) {
	cache := t.TempDir()
	p := New(Options{CacheDir: cache})
	fakeDebootstrap(t, `touch "$d/half"; mkdir "$d/m"; mount -t tmpfs tmpfs "$d/m"; echo "I: Retrieving x"; exec sleep 1000`)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := p.ensureBase(ctx, event.Func(func(e event.Event) {
		if strings.Contains(e.Text, "Retrieving") {
			cancel()
		}
	}))
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want canceled", err)
	}
	fakeDebootstrap(t, `echo "E: no mirror"; exit 1`)
	if _, err := p.ensureBase(t.Context(), event.Discard); err == nil || !strings.Contains(err.Error(), "E: no mirror") {
		t.Errorf("error %v does not say what debootstrap said", err)
	}
	fakeDebootstrap(t, `touch "$d/whole"`)
	base, err := p.ensureBase(t.Context(), event.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(base, "half")); err == nil {
		t.Error("the half tree was used")
	}
	if left := glob(t, filepath.Join(cache, "base", "tmp-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestWithoutDebootstrapTheErrorSaysHowToGetIt(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := New(Options{CacheDir: t.TempDir()}).ensureBase(t.Context(), event.Discard)
	if err == nil || !strings.Contains(err.Error(), "apt-get install debootstrap") {
		t.Errorf("error %v", err)
	}
}
