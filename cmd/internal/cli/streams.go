package cli

import (
	"io"

	"clusterctl/cmd/internal/view"
)

// Streams is what a command reads and writes. Out carries results only; progress, logs,
// questions and errors go to Err.
type Streams struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer
}

// IsTerminal says whether a person can be asked: In and Err are both terminals.
func (s Streams) IsTerminal() bool { return view.IsTerminal(s.In) && view.IsTerminal(s.Err) }
