package bucket

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"clusterctl/phases/state"
	"clusterctl/phases/state/bucket/buckettest"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func open(t *testing.T, p Place) *Store {
	t.Helper()
	s, err := Open(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// dev is the state of a cluster as one machine sees it.
func dev(t *testing.T, p Place) *state.Dir {
	d := state.Open(filepath.Join(t.TempDir(), "dev.yaml"), "dev")
	d.Shared = open(t, p)
	return d
}

func TestBucket(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	place := Place{Endpoint: buckettest.Start(t, "testserver"), Bucket: "states", Prefix: "clusterctl/dev", Region: "us-east-1"}
	at := func(prefix string) Place { p := place; p.Prefix = prefix; return p }
	t.Run("WhatIsWrittenIsReadByOthers", func(t *testing.T) { writtenIsRead(t, at("a")) })
	t.Run("NewerStateIsNotOverwritten", func(t *testing.T) { newerStays(t, at("b")) })
	t.Run("OfTwoFoundersOneLoses", func(t *testing.T) { oneFounder(t, at("c")) })
	t.Run("WriteThatMeetsItselfIsDone", func(t *testing.T) { meetsItself(t, at("d")) })
	t.Run("StateDirectoryHoldsNoSharedFile", func(t *testing.T) { nothingIsLocal(t, at("e")) })
	t.Run("JournalIsSeenFromOtherMachines", func(t *testing.T) { journalIsShared(t, at("f")) })
	t.Run("RemoveLeavesNothing", func(t *testing.T) { removeLeavesNothing(t, at("g")) })
	t.Run("ErrorsSayWhereAndWhatToDo", func(t *testing.T) {
		p := place
		p.Bucket = "nobodys"
		_, _, err := open(t, p).Read("secrets")
		if err == nil || !strings.Contains(err.Error(), "s3://nobodys/clusterctl/dev/secrets") || !strings.Contains(err.Error(), "make the bucket") {
			t.Errorf("error %v", err)
		}
	})
}

func writtenIsRead(t *testing.T, p Place) {
	one, two := open(t, p), open(t, p)
	if _, found, err := one.Read("x"); found || err != nil {
		t.Fatalf("nothing is there, yet %v, %v", found, err)
	}
	for _, text := range []string{"first", "second"} {
		if err := one.Write("x", []byte(text)); err != nil {
			t.Fatal(err)
		}
		got, found, err := two.Read("x")
		if string(got) != text || !found || err != nil {
			t.Errorf("read %q, %v, %v; want %q", got, found, err, text)
		}
	}
	if names, err := two.List(""); err != nil || len(names) != 1 || names[0] != "x" {
		t.Errorf("list: %v, %v", names, err)
	}
}

func newerStays(t *testing.T, p Place) {
	one, two := open(t, p), open(t, p)
	must(t, one.Write("x", []byte("old")))
	if _, _, err := two.Read("x"); err != nil {
		t.Fatal(err)
	}
	must(t, one.Write("x", []byte("new")))
	err := two.Write("x", []byte("late"))
	if _, changed := errors.AsType[*ChangedError](err); !changed || !strings.Contains(err.Error(), "run the command again") {
		t.Errorf("error %v, want that it was changed", err)
	}
	if got, _, _ := one.Read("x"); string(got) != "new" {
		t.Errorf("the newer state is now %q", got)
	}
	if _, _, err := two.Read("x"); err != nil {
		t.Fatal(err)
	}
	must(t, two.Write("x", []byte("after reading again")))
}

func oneFounder(t *testing.T, p Place) {
	one, two := open(t, p), open(t, p)
	for _, s := range []*Store{one, two} {
		if _, found, err := s.Read("secrets"); found || err != nil {
			t.Fatalf("%v, %v", found, err)
		}
	}
	must(t, one.Write("secrets", []byte("one")))
	if _, changed := errors.AsType[*ChangedError](two.Write("secrets", []byte("two"))); !changed {
		t.Error("two runs founded the same cluster")
	}
}

func meetsItself(t *testing.T, p Place) {
	one, other := open(t, p), open(t, p)
	must(t, other.Write("x", []byte("the same"))) // stands for the first try, whose answer was lost
	must(t, one.Write("x", []byte("the same")))
	must(t, one.Write("x", []byte("and on")))
}

func nothingIsLocal(t *testing.T, p Place) {
	d := dev(t, p)
	must(t, d.SaveIdentity(state.Identity{Name: "dev"}))
	if _, err := os.Stat(filepath.Join(d.Path(), "identity.json")); err == nil {
		t.Error("the identity is in the directory too")
	}
	id, found, err := dev(t, p).Identity()
	if id.Name != "dev" || !found || err != nil {
		t.Errorf("another machine reads %+v, %v, %v", id, found, err)
	}
	if !dev(t, p).Exists() {
		t.Error("another machine takes the state for missing")
	}
}

func journalIsShared(t *testing.T, p Place) {
	j, err := dev(t, p).Journal()
	must(t, err)
	must(t, j.Begin(noon, "20260301T090000.000Z", "up"))
	must(t, j.Step(state.Entry{Time: noon, Run: "20260301T090000.000Z", Phase: "etcd", Step: "s", Result: "done"}))
	other, err := dev(t, p).Journal()
	must(t, err)
	run, found, err := other.LastRun()
	if !found || err != nil || run.Finished() {
		t.Errorf("a run that goes on is seen as %+v, %v, %v", run, found, err)
	}
	must(t, j.End(noon, "20260301T090000.000Z", "up", state.Done, nil))
	run, _, err = other.LastRun()
	if err != nil || run.Result != state.Done || run.Steps != 1 {
		t.Errorf("a run that is over is seen as %+v, %v", run, err)
	}
	must(t, j.Close())
}

func removeLeavesNothing(t *testing.T, p Place) {
	d := dev(t, p)
	must(t, d.SaveIdentity(state.Identity{Name: "dev"}))
	must(t, open(t, p).Write("secrets", []byte("x")))
	must(t, d.Remove())
	if names, err := open(t, p).List(""); len(names) != 0 || err != nil {
		t.Errorf("left: %v, %v", names, err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
