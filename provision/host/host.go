// Package host is how the tool reaches a machine: run a command, put files, dial through it.
// Everything above this package sees a Host and nothing of SSH.
package host

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net"
	"slices"
	"strings"
)

// Host is one machine. It is safe for concurrent use; an implementation limits the sessions
// that are open at the same moment and queues the rest.
type Host interface {
	// Name is the host's name in the inventory.
	Name() string
	// Run executes one command and returns what it printed. A non-zero exit is an *ExitError,
	// an unreachable host or a refused login is an *UnreachableError.
	Run(ctx context.Context, c Cmd) (Result, error)
	// Put installs files in one round trip, in the given order, as root. Each is written to a
	// temporary name in its own directory, size and SHA-256 are checked on the host, mode and
	// owner set, then it is renamed over the old one: a file is the old one or the new one,
	// never half of either. Missing parent directories are made with mode 0755.
	Put(ctx context.Context, files ...File) error
	// Dial opens a connection from the host to addr ("tcp", "127.0.0.1:6443").
	Dial(ctx context.Context, network, addr string) (net.Conn, error)
	// Close ends the connection; the next call connects again.
	Close() error
}

// Cmd is a command as an argument vector, never a shell string.
type Cmd struct {
	Args   []string
	Stdin  io.Reader
	Stdout io.Writer // when set, standard output goes here and Result.Stdout is empty
	Root   bool      // run as root (through sudo when the login user is another)
}

// Result is what a command printed.
type Result struct{ Stdout, Stderr []byte }

// File is one file to put.
type File struct {
	Path   string      // absolute
	Mode   fs.FileMode // permission bits
	Owner  string      // "user:group"; "" means root:root
	Size   int64       // bytes that Open's reader gives
	SHA256 string      // lower-case hex of the content
	Open   func() (io.ReadCloser, error)
	// Lazy leaves writing to the disk to the host's kernel: after a power cut within its delay
	// the file may be damaged. It is for big files whose digest is compared after a reboot.
	Lazy bool
}

// ExitError says that a command ran and ended with a non-zero code.
type ExitError struct {
	Host   string
	Args   []string
	Code   int
	Stderr string // the last lines, for people
}

func (e *ExitError) Error() string {
	args := slices.Clone(e.Args)
	for i, a := range args {
		if strings.Contains(a, "\n") { // a script of ours
			args[i] = "(script)"
		}
	}
	msg := fmt.Sprintf("%s: %s: exit code %d", e.Host, strings.Join(args, " "), e.Code)
	if s := strings.TrimSpace(e.Stderr); s != "" {
		msg += ": " + s
	}
	return msg
}

// UnreachableError says that a host could not be reached or refused the login. Retrying inside
// one run is the transport's business and has been done when this is returned.
type UnreachableError struct {
	Host, Addr string
	Err        error
	Remedy     string // what to do next, one line; may be empty
}

func (e *UnreachableError) Error() string {
	msg := fmt.Sprintf("%s (%s): %v", e.Host, e.Addr, e.Err)
	if e.Remedy != "" {
		msg += "; " + e.Remedy
	}
	return msg
}

func (e *UnreachableError) Unwrap() error { return e.Err }
