// Command clusterctl turns a spec file into a running Kubernetes cluster and keeps it that way.
package main

import (
	"context"
	"math"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"clusterctl/cmd/internal/cli"
	"clusterctl/cmd/internal/view"
)

// softMemory is where garbage is collected sooner instead of letting the heap grow, in bytes: with it
// a run with 1,000 hosts stays below 300 MB. GOMEMLIMIT says otherwise.
const softMemory = 210 << 20

func main() {
	if debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(softMemory)
	}
	errOut := view.NewConsole(os.Stderr)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	ctx := cancelOnSignal(context.Background(), signals, errOut, os.Exit)
	os.Exit(cli.Execute(ctx, os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: errOut}))
}
