package local

import (
	"io"
	"os"
	"os/exec"

	"github.com/containerd/go-runc"
)

// console is a host's standard streams: nothing to read, and a file for what it says, so that
// no end of a pipe is in this process.
type console struct{ in, out *os.File }

var _ runc.IO = (*console)(nil)

func openConsole(path string) (*console, error) {
	in, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	out, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		in.Close()
		return nil, err
	}
	return &console{in, out}, nil
}

// Set gives the streams to runc, which hands them on to the host.
func (c *console) Set(cmd *exec.Cmd) { cmd.Stdin, cmd.Stdout, cmd.Stderr = c.in, c.out, c.out }

// Close closes our ends; the host keeps its own.
func (c *console) Close() error {
	c.in.Close()
	return c.out.Close()
}

// Stdin gives nothing: the streams are files.
func (c *console) Stdin() io.WriteCloser { return nil }

// Stdout gives nothing: the streams are files.
func (c *console) Stdout() io.ReadCloser { return nil }

// Stderr gives nothing: the streams are files.
func (c *console) Stderr() io.ReadCloser { return nil }
