package hosttest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"clusterctl/provision/host"
)

func runPassesHostileArguments(t *testing.T, s Subject) {
	args := append(hostileTexts(), "", "'", "''", `\`, `\\`, "a\r\nb", strings.Repeat("long ", 5000))
	got := s.output(t, append([]string{"printf", `%s\0`}, args...)...)
	if want := strings.Join(args, "\x00") + "\x00"; got != want {
		t.Errorf("the command saw %q, want %q", got, want)
	}
}

func runTellsExitCodes(t *testing.T, s Subject) {
	for _, code := range []int{1, 2, 77, 126, 255} {
		_, err := s.Host.Run(t.Context(), host.Cmd{Args: []string{"sh", "-c", fmt.Sprintf("echo because >&2; exit %d", code)}})
		var exit *host.ExitError
		if !errors.As(err, &exit) || exit.Code != code || exit.Host != s.Host.Name() || exit.Stderr != "because\n" {
			t.Errorf("exit %d: error %#v", code, err)
		}
	}
	_, err := s.Host.Run(t.Context(), host.Cmd{Args: []string{"no-such-program-anywhere"}})
	var exit *host.ExitError
	if !errors.As(err, &exit) || exit.Code != 127 {
		t.Errorf("unknown program: error %v, want exit code 127", err)
	}
	_, err = s.Host.Run(t.Context(), host.Cmd{Args: []string{"sh", "-c", "kill -KILL $$"}})
	if !errors.As(err, &exit) || exit.Code != 137 {
		t.Errorf("killed program: error %v, want exit code 137", err)
	}
}

func runKeepsOutputsApart(t *testing.T, s Subject) {
	c := host.Cmd{Args: []string{"sh", "-c", "echo out; echo err >&2"}}
	r, err := s.Host.Run(t.Context(), c)
	if err != nil || string(r.Stdout) != "out\n" || string(r.Stderr) != "err\n" {
		t.Errorf("stdout %q, stderr %q, error %v", r.Stdout, r.Stderr, err)
	}
	var out bytes.Buffer
	c.Stdout = &out
	r, err = s.Host.Run(t.Context(), c)
	if err != nil || out.String() != "out\n" || len(r.Stdout) != 0 {
		t.Errorf("writer got %q, result %q, error %v", out.String(), r.Stdout, err)
	}
	r, err = s.Host.Run(t.Context(), host.Cmd{Args: []string{"sh", "-c",
		"i=0; while [ $i -lt 20000 ]; do echo 'much to say on standard error'; i=$((i+1)); done >&2; echo last >&2"}})
	if err != nil || !strings.HasSuffix(string(r.Stderr), "\nlast\n") || len(r.Stderr) > 1<<20 {
		t.Errorf("%d bytes of standard error were kept, error %v", len(r.Stderr), err)
	}
}

func runCarriesStdin(t *testing.T, s Subject) {
	in := bytes.Repeat([]byte{0, 1, '\n', 0xff, '\r'}, 1<<18)
	r, err := s.Host.Run(t.Context(), host.Cmd{Args: []string{"cat"}, Stdin: bytes.NewReader(in)})
	if err != nil || !bytes.Equal(r.Stdout, in) {
		t.Errorf("%d bytes came back of %d, error %v", len(r.Stdout), len(in), err)
	}
	_, err = s.Host.Run(t.Context(), host.Cmd{Args: []string{"cat"}, Stdin: brokenReader{}})
	if !errors.Is(err, errSource) {
		t.Errorf("broken input: error %v, want the source's", err)
	}
}

func runEndsThoughInputIsNotRead(t *testing.T, s Subject) {
	never, w := io.Pipe()
	defer w.Close()
	if _, err := s.Host.Run(t.Context(), host.Cmd{Args: []string{"true"}, Stdin: never}); err != nil {
		t.Error(err)
	}
	much := io.LimitReader(zeros{}, 16<<20)
	if _, err := s.Host.Run(t.Context(), host.Cmd{Args: []string{"true"}, Stdin: much}); err != nil {
		t.Error(err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func runOfNothingIsRefused(t *testing.T, s Subject) {
	for _, args := range [][]string{nil, {}, {""}, {"-c", "x"}, {"echo", "a\x00b"}} {
		if _, err := s.Host.Run(t.Context(), host.Cmd{Args: args}); err == nil {
			t.Errorf("Run(%q) succeeded", args)
		}
	}
}

func cancelEndsCommandAndChildren(t *testing.T, s Subject) {
	for _, c := range []struct {
		script string
		root   bool
	}{
		{"sleep 86400 & echo $!; wait", false},
		{"sleep 86400 & echo $!; wait", true},
		{"trap '' TERM; sleep 86400 & echo $!; while :; do wait; done", true}, // wants SIGKILL
	} {
		ctx, cancel := context.WithCancel(t.Context())
		out, w := io.Pipe()
		done := make(chan error, 1)
		go func() {
			defer w.Close()
			_, err := s.Host.Run(ctx, host.Cmd{Args: []string{"sh", "-c", c.script}, Root: c.root, Stdout: w})
			done <- err
		}()
		pid, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want %v", err, context.Canceled)
		}
		s.waitGone(t, strings.TrimSpace(pid))
	}
}

// waitGone waits until a process is gone.
func (s Subject) waitGone(t *testing.T, pid string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err := s.Host.Run(ctx, host.Cmd{Root: true, Args: []string{"sh", "-c",
		`while read -r _ _ state _ <"/proc/$1/stat" && [ "$state" != Z ]; do sleep 0.05; done 2>/dev/null`, "sh", pid}})
	var exit *host.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Errorf("process %s is still there: %v", pid, err)
	}
}

func runFromManyGoroutines(t *testing.T, s Subject) {
	var wg sync.WaitGroup
	for i := range 48 {
		wg.Go(func() {
			want := fmt.Sprint(i)
			r, err := s.Host.Run(t.Context(), host.Cmd{Args: []string{"echo", want}})
			if err != nil || string(r.Stdout) != want+"\n" {
				t.Errorf("echo %s: %q, %v", want, r.Stdout, err)
			}
		})
	}
	wg.Wait()
}

func putReplacesRunningProgram(t *testing.T, s Subject) {
	sleep := s.output(t, "cat", "/bin/sleep")
	program := s.file("program", 0o755, sleep)
	s.put(t, program)
	ctx, cancel := context.WithCancel(t.Context())
	running := make(chan error, 1)
	out, w := io.Pipe()
	go func() {
		defer w.Close()
		_, err := s.Host.Run(ctx, host.Cmd{Stdout: w, Args: []string{"sh", "-c", `echo up; exec "$0" 86400`, path.Join(s.Dir, "program")}})
		running <- err
	}()
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	f := s.file("program", 0o755, "#!/bin/sh\necho new\n")
	s.put(t, f)
	if got := s.output(t, f.Path); got != "new\n" {
		t.Errorf("the new program printed %q", got)
	}
	cancel()
	if err := <-running; !errors.Is(err, context.Canceled) {
		t.Errorf("the old program ended by itself: %v", err)
	}
}
