package local

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"clusterctl/provision/event"
)

// killDelay is how long the children of a killed debootstrap may keep its output open.
const killDelay = 5 * time.Second

// debootstrap fills dir. It runs in a mount namespace of its own, so that whatever it mounts is
// gone when it ends, however it ends. It inherits the lock: should this process be killed, the
// next builder waits until debootstrap has really gone.
func (r recipe) debootstrap(ctx context.Context, dir string, lock *os.File, to event.Sink) error {
	program, err := exec.LookPath("debootstrap")
	if err != nil {
		return fmt.Errorf("find debootstrap: %w; run: apt-get install debootstrap", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "--variant=minbase", "--include="+strings.Join(r.Packages, ","), r.Suite, dir)
	cmd.ExtraFiles = []*os.File{lock}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Unshareflags: syscall.CLONE_NEWNS}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = killDelay
	out, w := io.Pipe()
	cmd.Stdout, cmd.Stderr = w, w
	seen := make(chan []string)
	go func() { seen <- reportPhases(out, to) }()
	err = cmd.Run()
	w.Close()
	last := <-seen
	if err != nil {
		return errors.Join(ctx.Err(), fmt.Errorf("%s: %w: %s", program, err, strings.Join(last, "; ")))
	}
	return nil
}

// reportPhases turns debootstrap's lines into notes, one for each new kind of work: "Retrieving",
// "Validating", "Extracting", "Unpacking", "Configuring". It returns the last lines for an error.
func reportPhases(r io.Reader, to event.Sink) []string {
	var last []string
	var word string
	for s := bufio.NewScanner(r); s.Scan(); {
		line := s.Text()
		if last = append(last, line); len(last) > 5 {
			last = last[1:]
		}
		text, isInfo := strings.CutPrefix(line, "I: ")
		first, _, _ := strings.Cut(text, " ")
		if isInfo && first != word {
			word = first
			note(to, "", "debootstrap: "+text)
		}
	}
	io.Copy(io.Discard, r) // a line longer than the scanner takes: let debootstrap go on
	return last
}
