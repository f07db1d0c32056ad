package view

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"clusterctl/e2e/golden"
	"clusterctl/provision/event"
)

// exampleRun emits the events of a run of about a minute in the bubble's time.
func exampleRun(sink event.Sink) {
	emit := func(e event.Event) { sink.Emit(e) }
	emit(event.Event{Kind: event.PhaseStart, Phase: "etcd", Total: 3})
	emit(event.Event{Kind: event.StepStart, Phase: "etcd", Host: "cp-2", Text: "create file /etc/etcd/etcd.yaml"})
	emit(event.Event{Kind: event.StepStart, Phase: "etcd", Host: "cp-1", Text: "start unit etcd.service"})
	time.Sleep(1 * time.Second)
	emit(event.Event{Kind: event.StepEnd, Phase: "etcd", Host: "cp-2", Text: "create file /etc/etcd/etcd.yaml"})
	emit(event.Event{Kind: event.Warning, Phase: "etcd", Host: "cp-2", Text: "the disk is slow", Err: errors.New("fsync took 40 ms")})
	time.Sleep(11 * time.Second)
	emit(event.Event{Kind: event.StepEnd, Phase: "etcd", Host: "cp-1", Text: "start unit etcd.service"})
	for range 13 {
		emit(event.Event{Kind: event.Wait, Phase: "etcd", Text: "quorum of 3 members", Err: errors.New("cp-3: connection\nrefused")})
		time.Sleep(time.Second)
	}
	emit(event.Event{Kind: event.PhaseEnd, Phase: "etcd"})
	emit(event.Event{Kind: event.PhaseStart, Phase: "apiserver", Total: 1})
	emit(event.Event{Kind: event.StepStart, Phase: "apiserver", Host: "cp-1", Text: "restart unit kube-apiserver.service"})
	time.Sleep(2 * time.Second)
	failed := errors.New("exit code 1:\n\x1b[31mbind: address in use\x1b[0m")
	emit(event.Event{Kind: event.StepEnd, Phase: "apiserver", Host: "cp-1", Text: "restart unit kube-apiserver.service", Err: failed})
	emit(event.Event{Kind: event.PhaseEnd, Phase: "apiserver", Err: failed})
	emit(event.Event{Kind: event.Note, Text: "run again to go on from here"})
}

func TestPlainProgressHasAHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		sink, stop := Progress(&b, false, Text)
		exampleRun(sink)
		stop()
		golden.Check(t, "testdata/progress-plain.txt", b.String())
	})
}

func TestJSONProgressIsOneObjectALine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		sink, stop := Progress(&b, false, JSON)
		exampleRun(sink)
		stop()
		for line := range strings.Lines(b.String()) {
			var got ProgressLine
			if err := json.Unmarshal([]byte(line), &got); err != nil || got.Schema != "v1" || got.Kind == "" || got.Time.IsZero() {
				t.Errorf("%v: %s", err, line)
			}
		}
		golden.Check(t, "testdata/progress.jsonl", b.String())
	})
}

// liveOn starts live progress on a terminal of that size.
func liveOn(t *testing.T, width, height int) (sc *screen, console *Console, sink event.Sink, stop func()) {
	sc = newScreen(width, height)
	console = NewConsole(sc)
	sink, stop = start(&liveProgress{console: console}, frameTime)
	t.Cleanup(stop)
	return sc, console, sink, stop
}

func TestLiveProgressLeavesPermanentLinesOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sc, _, sink, stop := liveOn(t, 80, 24)
		exampleRun(sink)
		stop()
		golden.Check(t, "testdata/progress-live-end.txt", sc.text())
	})
}

func TestLiveProgressShowsPhasesHostsAndWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sc, _, sink, stop := liveOn(t, 60, 24)
		sink.Emit(event.Event{Kind: event.PhaseStart, Phase: "nodes", Total: 8})
		for _, host := range []string{"worker-2", "worker-1"} {
			sink.Emit(event.Event{Kind: event.StepStart, Phase: "nodes", Host: host, Text: "create artifact /usr/local/bin/kubelet, which is a rather long title"})
		}
		sink.Emit(event.Event{Kind: event.Wait, Phase: "nodes", Host: "cp-1", Text: "node Ready", Err: errors.New("cni not ready")})
		time.Sleep(3 * time.Second)
		synctest.Wait()
		golden.Check(t, "testdata/progress-live.txt", sc.text())
		stop()
		if got := sc.text(); got != "" {
			t.Errorf("left on the screen: %q", got)
		}
	})
}

func TestLiveRegionIsBoundedByTheTerminalsHeight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sc, _, sink, stop := liveOn(t, 40, 6)
		sink.Emit(event.Event{Kind: event.PhaseStart, Phase: "nodes", Total: 30})
		for i := range 30 {
			sink.Emit(event.Event{Kind: event.StepStart, Phase: "nodes", Host: string(rune('a' + i)), Text: "step"})
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if got := strings.Count(sc.text(), "\n"); got != 5 {
			t.Errorf("%d lines on a terminal of 6 rows, want 5:\n%s", got, sc.text())
		}
		if !strings.Contains(sc.text(), "… and 27 more") {
			t.Errorf("what is left out is not told:\n%s", sc.text())
		}
		stop()
	})
}

func TestLiveRegionSurvivesANarrowerTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sc, _, sink, stop := liveOn(t, 80, 24)
		sink.Emit(event.Event{Kind: event.Note, Text: "before"})
		sink.Emit(event.Event{Kind: event.PhaseStart, Phase: "nodes", Total: 1})
		sink.Emit(event.Event{Kind: event.StepStart, Phase: "nodes", Host: "w", Text: strings.Repeat("long ", 14)})
		time.Sleep(time.Second)
		synctest.Wait()
		sc.reflow(30)
		time.Sleep(time.Second)
		synctest.Wait()
		stop()
		if got, want := sc.text(), "  before\n"; got != want {
			t.Errorf("screen %q, want %q", got, want)
		}
	})
}

func TestLogsGoAboveTheLiveRegion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sc, console, sink, stop := liveOn(t, 80, 24)
		sink.Emit(event.Event{Kind: event.PhaseStart, Phase: "etcd"})
		time.Sleep(time.Second)
		synctest.Wait()
		if _, err := console.Write([]byte("level=WARN msg=hello\n")); err != nil {
			t.Fatal(err)
		}
		if got := sc.text(); !strings.HasPrefix(got, "level=WARN msg=hello\n") || !strings.Contains(got, "etcd") {
			t.Errorf("screen:\n%s", got)
		}
		stop()
		if got, want := sc.text(), "level=WARN msg=hello\n"; got != want {
			t.Errorf("screen after stop %q, want %q", got, want)
		}
	})
}

func TestProgressTakesEventsFromManyGoroutinesAndAfterStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sc, _, sink, stop := liveOn(t, 80, 24)
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				host := string(rune('a' + i))
				for range 50 {
					sink.Emit(event.Event{Kind: event.StepStart, Phase: "os", Host: host, Text: "x"})
					sink.Emit(event.Event{Kind: event.StepEnd, Phase: "os", Host: host, Text: "x"})
				}
			})
		}
		wg.Wait()
		stop()
		stop()
		sink.Emit(event.Event{Kind: event.Warning, Text: "late"})
		if got, want := sc.text(), "! late\n"; got != want {
			t.Errorf("screen %q, want %q", got, want)
		}
	})
}

func TestNothingWrittenHidesTheCursor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sc, _, sink, stop := liveOn(t, 80, 24)
		exampleRun(sink)
		stop()
		if strings.Contains(sc.raw.String(), "\x1b[?") {
			t.Error("a terminal mode was set: it would stay when the process is killed")
		}
	})
}
