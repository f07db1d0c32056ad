package view

import (
	"encoding/json"
	"io"
	"time"

	"clusterctl/provision/event"
)

// Kinds of lines beside those of events.
const (
	findingKind event.Kind = "finding" // a check on a host found something
	errorKind   event.Kind = "error"   // the command ended with an error; the last line
)

// ProgressLine is one event as JSON, one object a line. Fields without a value are left out.
type ProgressLine struct {
	Schema string    `json:"schema"` // v1
	Time   time.Time `json:"time"`
	// phase-start, phase-end, step-start, step-end, wait, note, warning, finding or error
	Kind  event.Kind `json:"kind"`
	Phase string     `json:"phase,omitempty"`
	Host  string     `json:"host,omitempty"` // left out for the cluster as a whole
	Text  string     `json:"text,omitempty"` // the step, condition or message, for people
	Total int        `json:"total,omitempty"`
	// TookSeconds is how long the phase or step took, on phase-end and step-end.
	TookSeconds float64 `json:"tookSeconds,omitempty"`
	// Error is what went wrong, or for a wait the last reason why the condition is not good.
	Error    string `json:"error,omitempty"`
	Check    string `json:"check,omitempty"`    // finding: the check's name
	Severity string `json:"severity,omitempty"` // finding: error or warning
	Remedy   string `json:"remedy,omitempty"`   // finding, error: what to do next
	ExitCode int    `json:"exitCode,omitempty"` // error: what the process ends with
	Cluster  string `json:"cluster,omitempty"`  // when a command works on several
}

// FindingLines writes what checks found as lines of kind finding.
func FindingLines(w io.Writer, findings []Finding) {
	for _, f := range findings {
		writeLine(w, ProgressLine{Schema: schema, Time: time.Now().UTC(), Kind: findingKind, Host: f.Host, Text: f.Message, Check: f.Check, Severity: f.Severity, Remedy: f.Remedy})
	}
}

// ErrorLine writes why a command ended as a line of kind error.
func ErrorLine(w io.Writer, err error, hint string, code int) {
	writeLine(w, ProgressLine{Schema: schema, Time: time.Now().UTC(), Kind: errorKind, Error: err.Error(), Remedy: hint, ExitCode: code})
}

func writeLine(w io.Writer, line ProgressLine) {
	_ = json.NewEncoder(w).Encode(line) // see Progress on write errors
}

// jsonProgress writes ProgressLines.
type jsonProgress struct{ w io.Writer }

func (p jsonProgress) event(e event.Event) {
	line := ProgressLine{
		Schema: schema, Time: e.Time.UTC(), Kind: e.Kind, Phase: e.Phase, Host: e.Host,
		Text: e.Text, Total: e.Total, TookSeconds: e.Took.Seconds(),
	}
	if e.Err != nil {
		line.Error = e.Err.Error()
	}
	writeLine(p.w, line)
}

func (jsonProgress) tick(time.Time) {}
func (jsonProgress) close()         {}
