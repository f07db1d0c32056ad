// Command clusterctl turns a spec file into a running Kubernetes cluster and keeps it that way.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"clusterctl/cmd/internal/cli"
	"clusterctl/cmd/internal/view"
)

func main() {
	errOut := view.NewConsole(os.Stderr)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	ctx := cancelOnSignal(context.Background(), signals, errOut, os.Exit)
	os.Exit(cli.Execute(ctx, os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: errOut}))
}
