package view

import (
	"encoding/json"
	"io"
	"time"

	"clusterctl/provision/event"
)

// ProgressLine is one event as JSON, one object a line. Fields without a value are left out.
type ProgressLine struct {
	Schema string    `json:"schema"` // v1
	Time   time.Time `json:"time"`
	// phase-start, phase-end, step-start, step-end, wait, note or warning
	Kind  event.Kind `json:"kind"`
	Phase string     `json:"phase,omitempty"`
	Host  string     `json:"host,omitempty"` // left out for the cluster as a whole
	Text  string     `json:"text,omitempty"` // the step, condition or message, for people
	Total int        `json:"total,omitempty"`
	// TookSeconds is how long the phase or step took, on phase-end and step-end.
	TookSeconds float64 `json:"tookSeconds,omitempty"`
	// Error is what went wrong, or for a wait the last reason why the condition is not good.
	Error string `json:"error,omitempty"`
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
	_ = json.NewEncoder(p.w).Encode(line) // see Progress on write errors
}

func (jsonProgress) tick(time.Time) {}
func (jsonProgress) close()         {}
