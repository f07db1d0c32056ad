package view

import (
	"io"
	"os"
	"sync"
	"time"

	"clusterctl/provision/event"
)

// Progress shows the events of long work on w until stop is called: as one JSON object a line
// ([ProgressLine]); on a terminal as a live region with the phases and hosts at work; elsewhere
// as plain lines with a heartbeat. Share w with logs by giving both the same *Console.
// stop may be called more than once; events that come later are still printed, without a
// region. A write error is dropped: progress must not stop the work.
func Progress(w io.Writer, terminal bool, format Format) (event.Sink, func()) {
	console, ok := w.(*Console)
	if !ok {
		console = NewConsole(w)
	}
	switch {
	case format == JSON:
		return start(jsonProgress{w: console}, 0)
	case terminal && os.Getenv("TERM") != "dumb":
		return start(&liveProgress{console: console, color: palette(wantsColor(w))}, frameTime)
	}
	return start(&plainProgress{w: console}, heartbeatTime)
}

// renderer shows events. Its methods are never called at the same time.
type renderer interface {
	event(e event.Event)
	tick(now time.Time) // called at a fixed interval until close
	close()
}

// progress feeds a renderer with events and ticks.
type progress struct {
	mu       sync.Mutex
	renderer renderer
}

// start ticks r each interval, unless that is zero, until stop is called.
func start(r renderer, interval time.Duration) (sink event.Sink, stop func()) {
	p := &progress{renderer: r}
	quit, finished := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(finished)
		p.ticks(interval, quit)
	}()
	return event.Func(p.emit), sync.OnceFunc(func() {
		close(quit)
		<-finished
		p.mu.Lock()
		defer p.mu.Unlock()
		p.renderer.close()
	})
}

func (p *progress) emit(e event.Event) {
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.renderer.event(e)
}

func (p *progress) ticks(interval time.Duration, quit <-chan struct{}) {
	if interval == 0 {
		return
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-quit:
			return
		case now := <-ticker.C:
			p.mu.Lock()
			p.renderer.tick(now)
			p.mu.Unlock()
		}
	}
}
