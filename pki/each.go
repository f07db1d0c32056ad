package pki

import (
	"errors"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
)

// each calls f with 0 to n-1, on as many goroutines as there are processors, and joins errors in
// the order of the indexes. RSA keys take a good part of a second each.
func each(n int, f func(i int) error) error {
	errs := make([]error, n)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				errs[i] = f(i)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// sharedReader lets several goroutines read from one source of randomness.
type sharedReader struct {
	mu sync.Mutex
	r  io.Reader
}

func (s *sharedReader) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.r.Read(p)
}
