// Command pause holds the namespaces of a pod open. It waits until it is told
// to stop and, as process 1 of a shared process namespace, reaps the orphans
// that fall to it (wait4(2): zombies stay until their parent collects them).
package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// version is stamped by the linker.
var version = "unstamped"

func main() {
	if len(os.Args) > 1 && os.Args[1] == "-v" {
		fmt.Println("pause", version)
		return
	}
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGCHLD)
	reap() // children that ended before the handler was in place
	for s := range signals {
		if s != syscall.SIGCHLD {
			return
		}
		reap()
	}
}

// reap collects every child that has ended: one SIGCHLD may stand for many.
func reap() {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if err == syscall.EINTR {
			continue
		}
		if pid <= 0 {
			return
		}
	}
}
