package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"
)

// serveHealth answers /healthz while the process lives, and /readyz with 200
// once the returned function was called, 503 before. An empty address serves
// nothing. The server stops with ctx.
func serveHealth(ctx context.Context, wg *sync.WaitGroup, address string) (ready func(), err error) {
	var isReady atomic.Bool
	ready = func() { isReady.Store(true) }
	if address == "" {
		return ready, nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for health checks: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "flanneld is running")
	})
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !isReady.Load() {
			http.Error(w, "flanneld is not ready yet", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "flanneld is ready")
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	wg.Go(func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			klog.ErrorS(err, "The health server ended")
		}
	})
	context.AfterFunc(ctx, func() { server.Close() })
	return ready, nil
}
