package state

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"
)

func openJournal(t *testing.T, d *Dir) *Journal {
	t.Helper()
	j, err := d.Journal()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

func lastRun(t *testing.T, d *Dir) Run {
	t.Helper()
	run, ok, err := openJournal(t, d).LastRun()
	if !ok || err != nil {
		t.Fatalf("LastRun: %v %v", ok, err)
	}
	return run
}

func check(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func TestLastRunTellsFinishedFromCutOff(t *testing.T) {
	d := openTemp(t)
	j := openJournal(t, d)
	check(t,
		j.Begin(noon, "r1", "up dev.yaml"),
		j.Step(Entry{Time: noon, Run: "r1", Phase: "etcd", Result: Started}), // a phase is not the run
		j.Step(Entry{Time: noon, Run: "r1", Phase: "etcd", Host: "cp1", Step: "etcd.service", Result: Done}),
		j.End(noon.Add(time.Minute), "r1", "up dev.yaml", Failed, errors.New("cp2 is away")),
	)
	got := lastRun(t, d)
	if !got.Finished() || got.Result != Failed || got.Error != "cp2 is away" || got.Steps != 2 || got.Last.Step != "etcd.service" {
		t.Errorf("%+v", got)
	}
	check(t,
		j.Begin(noon.Add(time.Hour), "r2", "up dev.yaml"),
		j.Step(Entry{Time: noon, Run: "r1", Phase: "late", Result: Done}), // of another run
	)
	if got := lastRun(t, d); got.Finished() || got.ID != "r2" || got.Steps != 0 || !got.Started.Equal(noon.Add(time.Hour)) {
		t.Errorf("%+v", got)
	}
}

func TestCutLastLineIsLeftOutAndNotExtended(t *testing.T) {
	d := openTemp(t)
	j := openJournal(t, d)
	check(t, j.Begin(noon, "r1", "up"), j.Step(Entry{Time: noon, Run: "r1", Phase: "etcd", Result: Done}), j.Close())
	data, err := os.ReadFile(d.file("journal.jsonl"))
	check(t, err, os.WriteFile(d.file("journal.jsonl"), data[:len(data)-5], 0o600))
	if got := lastRun(t, d); got.ID != "r1" || got.Steps != 0 {
		t.Errorf("cut: %+v", got)
	}
	check(t, j.Begin(noon, "r2", "up"), j.End(noon, "r2", "up", Done, nil))
	if got := lastRun(t, d); got.ID != "r2" || got.Result != Done {
		t.Errorf("after the cut line: %+v", got)
	}
}

func TestJournalLinesNeverMix(t *testing.T) {
	d := openTemp(t)
	j := openJournal(t, d)
	check(t, j.Begin(noon, "r1", "up"))
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			if err := j.Step(Entry{Time: noon, Run: "r1", Host: fmt.Sprintf("w%d", i), Step: "x", Result: Done}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := lastRun(t, d); got.Steps != 50 {
		t.Errorf("%d steps", got.Steps)
	}
}

func TestReadStopsWhenTold(t *testing.T) {
	d := openTemp(t)
	j := openJournal(t, d)
	check(t, j.Begin(noon, "r1", "up"), j.Begin(noon, "r2", "up"))
	n := 0
	check(t, j.Read(func(Entry) bool { n++; return false }))
	if n != 1 {
		t.Errorf("%d entries", n)
	}
}
