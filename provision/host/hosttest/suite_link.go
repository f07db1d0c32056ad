package hosttest

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"

	"clusterctl/provision/host"
)

func lostConnectionWorksAgain(t *testing.T, s Subject) {
	if s.Drop == nil {
		t.Skip("the connection cannot be cut")
	}
	out, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		defer w.Close()
		_, err := s.Host.Run(t.Context(), host.Cmd{Args: []string{"sh", "-c", "echo up; exec sleep 86400"}, Stdout: w})
		done <- err
	}()
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	s.Drop()
	err := <-done
	var lost *host.UnreachableError
	if !errors.As(err, &lost) || !strings.Contains(err.Error(), "connection lost") {
		t.Errorf("error %v, want a lost connection", err)
	}
	if got := s.output(t, "echo", "again"); got != "again\n" {
		t.Errorf("after the loss: %q", got)
	}
}

func cutPutIsPutAgain(t *testing.T, s Subject) {
	if s.Drop == nil {
		t.Skip("the connection cannot be cut")
	}
	s.put(t, s.file("f", 0o644, "old"))
	var once sync.Once
	content := strings.Repeat("new", 1<<20)
	f := HalfWay(s.file("f", 0o644, content), func() error {
		once.Do(s.Drop)
		return nil
	})
	s.put(t, f)
	s.wantContent(t, f, content)
	s.wantNames(t, "f")
}

func worksAgainAfterClose(t *testing.T, s Subject) {
	for range 2 {
		if got := s.output(t, "echo", "hello"); got != "hello\n" {
			t.Errorf("echo printed %q", got)
		}
		if err := s.Host.Close(); err != nil {
			t.Error(err)
		}
	}
}
