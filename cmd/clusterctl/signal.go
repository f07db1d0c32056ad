package main

import (
	"context"
	"io"
	"os"
)

const (
	exitInterrupted = 130
	interruptedText = "interrupted: finishing the step in progress; press Ctrl-C again to stop at once\n"
)

// cancelOnSignal returns a context that the first signal cancels; the second calls exit at
// once. The first also tells on errOut what is going on.
func cancelOnSignal(ctx context.Context, signals <-chan os.Signal, errOut io.Writer, exit func(int)) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		<-signals
		cancel()

		go func() { // a blocked stderr must not hold up the second signal

			_, _ = io.WriteString(errOut, interruptedText) // nowhere to report that stderr is gone
		}()
		<-signals
		exit(exitInterrupted)
	}()
	return ctx
}
