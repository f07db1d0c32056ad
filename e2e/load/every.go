package load

import (
	"context"
	"sync"
	"time"
)

// Every does work at a pace, never twice at the same time, until stop is called or ctx ends. stop
// waits for work that has begun; it may be called again.
func Every(ctx context.Context, pace time.Duration, work func(ctx context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(pace)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				work(ctx)
			}
		}
	})
	return func() {
		cancel()
		running.Wait()
	}
}
