package state

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"
)

// Results that begin and end a run in the journal; those of steps are free.
const (
	Started     = "started"
	Done        = "done"
	Failed      = "failed"
	Interrupted = "interrupted"
)

// Entry is one line of the journal. It never holds a secret: step is a resource's title.
type Entry struct {
	Time    time.Time `json:"time"`
	Run     string    `json:"run"` // id of the run
	Command string    `json:"command,omitempty"`
	Phase   string    `json:"phase,omitempty"`
	Host    string    `json:"host,omitempty"`
	Step    string    `json:"step,omitempty"`
	Result  string    `json:"result"`
	Error   string    `json:"error,omitempty"`
}

// ofRun says that the entry is about the run as a whole.
func (e Entry) ofRun() bool { return e.Phase == "" && e.Host == "" && e.Step == "" }

// Journal is the history of runs, one JSON object a line, only ever appended to. It is for
// people and decides nothing. It is safe for concurrent use.
type Journal struct {
	dir *Dir

	mu   sync.Mutex
	file *os.File // opened by the first write
	run  []byte   // the lines of this run, where the state is shared
}

// Journal gives the journal without touching it. The error is for a state directory that
// cannot be used at all.
func (d *Dir) Journal() (*Journal, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	return &Journal{dir: d}, nil
}

// Begin writes that a run starts; it is on disk when Begin returns, so that a run that was cut
// off leaves a trace.
func (j *Journal) Begin(at time.Time, run, command string) error {
	return j.put(Entry{Time: at, Run: run, Command: command, Result: Started}, true)
}

// Step writes what a step came to.
func (j *Journal) Step(e Entry) error { return j.put(e, false) }

// End writes how a run ended and makes everything before it safe on disk. cause may be nil.
func (j *Journal) End(at time.Time, run, command, result string, cause error) error {
	e := Entry{Time: at, Run: run, Command: command, Result: result}
	if cause != nil {
		e.Error = cause.Error()
	}
	return j.put(e, true)
}

// Close ends writing; a later write opens the file again.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file == nil {
		return nil
	}
	f := j.file
	j.file = nil
	return f.Close()
}

func (j *Journal) put(e Entry, flush bool) error {
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file == nil {
		if err := j.open(); err != nil {
			return fmt.Errorf("journal: %w", err)
		}
	}
	if _, err := j.file.Write(append(line, '\n')); err != nil { // one write: lines never mix
		return fmt.Errorf("journal: %w", err)
	}
	if flush {
		if err := j.file.Sync(); err != nil {
			return fmt.Errorf("journal: %w", err)
		}
	}
	return j.share(e.Run, line, flush)
}

// open opens for appending, on a new line also when the last one was cut by a crash.
func (j *Journal) open() error {
	if err := j.dir.make(); err != nil {
		return err
	}
	f, err := j.dir.openPrivate(j.dir.file(journalName), os.O_RDWR|os.O_APPEND)
	if err != nil {
		return err
	}
	if err := endLine(f); err != nil {
		return errors.Join(err, f.Close())
	}
	j.file = f
	return nil
}

func endLine(f *os.File) error {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return err
	}
	last := make([]byte, 1)
	if _, err := f.ReadAt(last, info.Size()-1); err != nil {
		return err
	}
	if last[0] == '\n' {
		return nil
	}
	_, err = f.Write([]byte{'\n'})
	return err
}

// Read calls each with all entries, oldest first, until it gives false. A line that cannot be
// read is left out: it was cut by a crash.
func (j *Journal) Read(each func(Entry) bool) error {
	if j.dir.Shared != nil {
		return j.readShared(false, each)
	}
	f, err := os.Open(j.dir.file(journalName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	defer f.Close()
	_, err = readEntries(f, each)
	return err
}

// readEntries is Read for one file; it also gives false when each did.
func readEntries(from io.Reader, each func(Entry) bool) (bool, error) {
	r := bufio.NewReader(from)
	for {
		line, err := r.ReadBytes('\n')
		var e Entry
		if len(bytes.TrimSpace(line)) > 0 && json.Unmarshal(line, &e) == nil && !each(e) {
			return false, nil
		}
		if err == io.EOF {
			return true, nil
		}
		if err != nil {
			return false, fmt.Errorf("journal: %w", err)
		}
	}
}

// Run is what the journal knows of one run.
type Run struct {
	ID, Command string
	Started     time.Time
	Ended       time.Time // zero: it never ended, it was cut off or still goes on
	Result      string    // Done, Failed, Interrupted; empty while Ended is zero
	Error       string
	Steps       int   // steps that were written
	Last        Entry // the last of them
}

// Finished says whether the run came to an end by itself.
func (r Run) Finished() bool { return !r.Ended.IsZero() }

// LastRun gives the run that began last; false when there was none.
func (j *Journal) LastRun() (Run, bool, error) {
	var run Run
	read := j.Read
	if j.dir.Shared != nil {
		read = func(each func(Entry) bool) error { return j.readShared(true, each) }
	}
	err := read(func(e Entry) bool {
		switch {
		case e.Result == Started && e.ofRun():
			run = Run{ID: e.Run, Command: e.Command, Started: e.Time}
		case e.Run != run.ID || run.ID == "":
		case e.ofRun():
			run.Ended, run.Result, run.Error = e.Time, e.Result, e.Error
		default:
			run.Steps++
			run.Last = e
		}
		return true
	})
	return run, run.ID != "", err
}
