package local

import (
	"time"

	"clusterctl/provision/event"
)

// phase is what events say they belong to.
const phase = "hosts"

func note(to event.Sink, host, text string) {
	to.Emit(event.Event{Time: time.Now(), Kind: event.Note, Phase: phase, Host: host, Text: text})
}

func step(to event.Sink, kind event.Kind, host, text string, took time.Duration, err error) {
	to.Emit(event.Event{Time: time.Now(), Kind: kind, Phase: phase, Host: host, Text: text, Took: took, Err: err})
}
