package state

import (
	"bytes"
	"fmt"
	"strings"
)

// journalPrefix is where a shared state has the journal: one file a run, so that runs of several
// machines never write the same.
const journalPrefix = "journal/"

func journalFile(run string) string { return journalPrefix + run + ".jsonl" }

// share adds a line to the run's file in the store, which gets it when it must be safe.
func (j *Journal) share(run string, line []byte, flush bool) error {
	if j.dir.Shared == nil {
		return nil
	}
	j.run = append(append(j.run, line...), '\n')
	if !flush {
		return nil
	}
	if err := j.dir.Shared.Write(journalFile(run), j.run); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

// readShared reads the runs of all machines, oldest first, or the last one only.
func (j *Journal) readShared(lastOnly bool, each func(Entry) bool) error {
	names, err := j.dir.Shared.List(journalPrefix)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	if lastOnly && len(names) > 0 {
		names = names[len(names)-1:]
	}
	for _, name := range names {
		if !strings.HasSuffix(name, ".jsonl") {
			continue
		}
		data, found, err := j.dir.Shared.Read(name)
		if err != nil {
			return fmt.Errorf("journal: %w", err)
		}
		if !found {
			continue // removed meanwhile
		}
		if more, err := readEntries(bytes.NewReader(data), each); err != nil || !more {
			return err
		}
	}
	return nil
}
