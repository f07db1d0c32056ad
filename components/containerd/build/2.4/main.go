// Command containerd is the containerd daemon and its ctr client in one static
// binary; the name it is started by picks the program. The shim is built
// from upstream's own main (a tool of this module): one process of it runs
// per pod, and it must not carry or register the daemon's plugins.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	_ "github.com/containerd/containerd/v2/cmd/containerd/builtins"
	"github.com/containerd/containerd/v2/cmd/containerd/command"
	ctr "github.com/containerd/containerd/v2/cmd/ctr/app"
)

func main() {
	if err := run(context.Background(), filepath.Base(os.Args[0])); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %s\n", filepath.Base(os.Args[0]), err)
		os.Exit(1)
	}
}

func run(ctx context.Context, name string) error {
	switch name {
	case "containerd":
		return command.App().Run(ctx, os.Args)
	case "ctr":
		return ctr.New().Run(ctx, os.Args)
	}
	return fmt.Errorf("start this binary as containerd or ctr (a symlink of that name)")
}
