// Command clusterctl-balancer runs on every host and gives the programs there
// one address for all API servers. It opens TCP connections only to servers
// that answer /readyz, prefers the one on its own host, and needs nothing of
// the API it balances: backends come from a file.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/coreos/go-systemd/v22/daemon"
)

// version is stamped by the linker.
var version = "unstamped"

func main() {
	path := flag.String("config", "", "configuration `file` (JSON)")
	showVersion := flag.Bool("version", false, "print the version and exit")
	flag.Parse()
	if *showVersion {
		fmt.Println("clusterctl-balancer", version)
		return
	}
	if *path == "" {
		fmt.Fprintln(os.Stderr, "clusterctl-balancer: --config FILE is missing")
		os.Exit(2)
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)

	b := &balancer{path: *path, log: log, reload: hangups, ready: func() error {
		_, err := daemon.SdNotify(false, daemon.SdNotifyReady)
		return err
	}}
	if err := b.run(ctx); err != nil {
		log.Error("The balancer ends", "err", err)
		os.Exit(1)
	}
}
