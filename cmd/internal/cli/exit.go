package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"clusterctl/provision/host"
)

// The exit codes, part of the command contract.
const (
	exitDone        = 0
	exitFailed      = 1
	exitChanges     = 2
	exitUsage       = 3
	exitUnreachable = 4
	exitLocked      = 5
	exitInterrupted = 130
)

// ErrChanges is what plan --detailed-exitcode returns when the plan is not empty. It is an
// answer, not a failure: nothing is printed for it.
var ErrChanges = errors.New("the plan has changes")

// UsageError says that the command line is wrong.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }
func (e *UsageError) Unwrap() error { return e.Err }

// ExitCode is the process's exit code for this error.
func (e *UsageError) ExitCode() int { return exitUsage }

// usagef makes a UsageError.
func usagef(format string, args ...any) error {
	return &UsageError{fmt.Errorf(format, args...)}
}

// exitCode is the one place where an error becomes an exit code. An error type of any package
// chooses its own code with a method ExitCode() int; types and values that have none are in
// the list here. Once ctx is cancelled, by a signal, whatever a command returns is a
// consequence of that. When errors are joined the first that has a code decides.
func exitCode(ctx context.Context, err error) int {
	if err == nil {
		return exitDone
	}
	if ctx.Err() != nil {
		return exitInterrupted
	}
	if coded, ok := errors.AsType[interface {
		error
		ExitCode() int
	}](err); ok {
		return coded.ExitCode()
	}
	if _, ok := errors.AsType[*host.UnreachableError](err); ok {
		return exitUnreachable
	}
	switch {
	case errors.Is(err, ErrChanges):
		return exitChanges
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	}
	return exitFailed
}

// exitCodesHelp is the part of the help text that lists the exit codes.
func exitCodesHelp() string {
	var b strings.Builder
	b.WriteString("Exit codes:\n")
	for _, c := range []struct {
		code    int
		meaning string
	}{
		{exitDone, "done"},
		{exitFailed, "failed"},
		{exitChanges, "plan --detailed-exitcode found changes"},
		{exitUsage, "the spec or the command line is wrong"},
		{exitUnreachable, "a host cannot be reached or refuses the login"},
		{exitLocked, "another run holds the cluster's lock"},
		{exitInterrupted, "interrupted"},
	} {
		fmt.Fprintf(&b, "  %-4d %s\n", c.code, c.meaning)
	}
	return strings.TrimRight(b.String(), "\n")
}
