// Command testserver is an S3 server for tests: it keeps objects in memory, has one bucket, prints
// its URL and ends with its standard input.
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "testserver:", err)
		os.Exit(1)
	}
}

func run() error {
	backend := s3mem.New()
	if err := backend.CreateBucket("states"); err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s\n", l.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // ends with the test
		os.Exit(0)
	}()
	return http.Serve(l, gofakes3.New(backend).Server())
}
