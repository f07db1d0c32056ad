// Package buckettest runs an S3 server for tests.
package buckettest

import (
	"bufio"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Bucket is the one that the server has.
const Bucket = "states"

// Start builds and starts the S3 server in dir, phases/state/bucket/testserver, and gives its URL. It
// is a module of its own, so that nothing of it is linked into the program. It ends with the test.
func Start(t *testing.T, dir string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "s3server")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the S3 server: %v\n%s", err, out)
	}
	server := exec.Command(program)
	stdin, err := server.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	server.Stderr = t.Output()
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		_ = server.Wait() // it was told to end
	})
	url, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	go io.Copy(io.Discard, stdout)
	return strings.TrimSpace(url)
}
