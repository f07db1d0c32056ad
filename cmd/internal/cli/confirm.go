package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// errDeclined says that a person answered no.
var errDeclined = errors.New("not confirmed; nothing was changed")

// confirm asks question, and returns nil when the answer is yes or assumeYes (--yes) is given.
// Without a terminal nobody can answer: then --yes is needed, and its absence is a UsageError.
func confirm(ctx context.Context, s Streams, question string, assumeYes bool) error {
	return ask(ctx, s, question+" [y/N] ", assumeYes, func(answer string) bool {
		answer = strings.ToLower(answer)
		return answer == "y" || answer == "yes"
	})
}

// confirmName is confirm for what cannot be taken back: the answer is the cluster's name.
func confirmName(ctx context.Context, s Streams, question, name string, assumeYes bool) error {
	prompt := fmt.Sprintf("%s\nType the cluster's name, %s, to go on: ", question, name)
	return ask(ctx, s, prompt, assumeYes, func(answer string) bool { return answer == name })
}

func ask(ctx context.Context, s Streams, prompt string, assumeYes bool, good func(string) bool) error {
	if assumeYes {
		return nil
	}
	if !s.IsTerminal() {
		return usagef("this changes the cluster and there is no terminal to ask on; look at \"clusterctl plan\" and give --yes")
	}
	if _, err := io.WriteString(s.Err, prompt); err != nil {
		return err
	}
	answer, err := readLine(ctx, s.In)
	if err != nil {
		return err
	}
	if !good(strings.TrimSpace(answer)) {
		return errDeclined
	}
	return nil
}

// readLine reads a line or gives up when ctx is cancelled; the end of input is an empty line.
// A read from a terminal cannot be cancelled, so the goroutine stays until the process ends.
func readLine(ctx context.Context, in io.Reader) (string, error) {
	type result struct {
		line string
		err  error
	}
	done := make(chan result, 1)
	go func() {
		line, err := bufio.NewReader(in).ReadString('\n')
		if errors.Is(err, io.EOF) {
			err = nil
		}
		done <- result{line, err}
	}()
	select {
	case r := <-done:
		return r.line, r.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// errNoTerminal says that there is nobody to ask.
var errNoTerminal = errors.New("no terminal to ask on")

// readSecret asks for a line that is not shown. When ctx is cancelled the terminal shows again what is
// typed; the read itself ends with the process.
func readSecret(ctx context.Context, s Streams, prompt string) (string, error) {
	in, ok := s.In.(*os.File)
	if !ok || !s.IsTerminal() {
		return "", errNoTerminal
	}
	before, err := term.GetState(int(in.Fd()))
	if err != nil {
		return "", fmt.Errorf("ask on the terminal: %w", err)
	}
	if _, err := io.WriteString(s.Err, prompt); err != nil {
		return "", err
	}
	type result struct {
		text []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		b, err := term.ReadPassword(int(in.Fd()))
		done <- result{b, err}
	}()
	select {
	case r := <-done:
		fmt.Fprintln(s.Err)
		return string(r.text), r.err
	case <-ctx.Done():
		fmt.Fprintln(s.Err)
		return "", errors.Join(ctx.Err(), term.Restore(int(in.Fd()), before))
	}
}
