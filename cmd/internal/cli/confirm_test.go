package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

// terminalIn and terminalOut say that they are terminals.
type (
	terminalIn  struct{ io.Reader }
	terminalOut struct{ bytes.Buffer }
)

func (terminalIn) IsTerminal() bool   { return true }
func (*terminalOut) IsTerminal() bool { return true }

func onTerminal(in io.Reader) (Streams, *terminalOut) {
	errOut := new(terminalOut)
	return Streams{In: terminalIn{in}, Out: io.Discard, Err: errOut}, errOut
}

func TestConfirmOnTerminal(t *testing.T) {
	for answer, want := range map[string]error{
		"y\n": nil, "Yes\n": nil, " yes \n": nil, "y": nil,
		"n\n": errDeclined, "\n": errDeclined, "": errDeclined, "yeah\n": errDeclined,
	} {
		s, errOut := onTerminal(strings.NewReader(answer))
		if err := confirm(t.Context(), s, "Change 3 hosts?", false); !errors.Is(err, want) {
			t.Errorf("answer %q: error %v, want %v", answer, err, want)
		}
		if got := errOut.String(); got != "Change 3 hosts? [y/N] " {
			t.Errorf("question = %q", got)
		}
	}
}

func TestConfirmNameTakesOnlyTheExactName(t *testing.T) {
	for answer, want := range map[string]error{"dev\n": nil, "Dev\n": errDeclined, "yes\n": errDeclined, "\n": errDeclined} {
		s, errOut := onTerminal(strings.NewReader(answer))
		if err := confirmName(t.Context(), s, "Destroy it?", "dev", false); !errors.Is(err, want) {
			t.Errorf("answer %q: error %v, want %v", answer, err, want)
		}
		if !strings.Contains(errOut.String(), "dev") {
			t.Errorf("question %q does not tell the name", errOut.String())
		}
	}
}

func TestConfirmWithoutTerminalNeedsYes(t *testing.T) {
	var errOut bytes.Buffer
	s := Streams{In: strings.NewReader("y\n"), Out: io.Discard, Err: &errOut}
	err := confirm(t.Context(), s, "Change?", false)
	if _, ok := errors.AsType[*UsageError](err); !ok || !strings.Contains(err.Error(), "--yes") {
		t.Errorf("error %v, want a UsageError that tells of --yes", err)
	}
	if err := confirm(t.Context(), s, "Change?", true); err != nil {
		t.Errorf("with --yes: %v", err)
	}
	if errOut.Len() > 0 {
		t.Errorf("asked %q where nobody can answer", errOut.String())
	}
}

func TestConfirmEndsWhenInterrupted(t *testing.T) {
	in, keep := io.Pipe() // nobody types
	defer keep.Close()
	s, _ := onTerminal(in)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := confirm(ctx, s, "Change?", false); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want Canceled", err)
	}
}
