package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// readyPath leaves etcd out: all API servers share it, so it says nothing about which of them to
// prefer, and every question would read from it.
const readyPath = "/readyz?exclude=etcd&exclude=etcd-readiness"

const (
	checkEvery   = 250 * time.Millisecond
	checkTimeout = time.Second
)

// checker asks API servers whether they are ready. It keeps one connection to
// each open: a TLS handshake four times a second from every host would load
// the servers. A check that fails closes it, so the next one dials.
type checker struct{ client *http.Client }

func newChecker(c config) *checker {
	dialer := &net.Dialer{Timeout: checkTimeout}
	return &checker{client: &http.Client{
		Timeout: checkTimeout,
		// A redirect is an answer, and not 200.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext:         dialer.DialContext,
			TLSClientConfig:     &tls.Config{RootCAs: c.roots, ServerName: c.ServerName, MinVersion: tls.VersionTLS12},
			MaxIdleConnsPerHost: 1,
			IdleConnTimeout:     30 * time.Second,
		},
	}}
}

// check asks once. The error says why the verdict is not ready.
func (c *checker) check(ctx context.Context, address string) (verdict, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+readyPath, nil)
	if err != nil {
		return notReady, err
	}
	response, err := c.client.Do(request)
	if err != nil {
		if operation, ok := errors.AsType[*net.OpError](err); ok && operation.Op == "dial" {
			return unreachable, err
		}
		return notReady, err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10)); err != nil {
		return notReady, err
	}
	if response.StatusCode != http.StatusOK {
		return notReady, fmt.Errorf("/readyz says %s", response.Status)
	}
	return ready, nil
}

// watch checks one member until ctx ends.
func (b *balancer) watch(ctx context.Context, m *member, c *checker) {
	ticker := time.NewTicker(checkEvery)
	defer ticker.Stop()
	for {
		verdict, err := c.check(ctx, m.Address)
		if ctx.Err() != nil {
			return
		}
		if b.pool.record(m, verdict, err, time.Now()) {
			b.log.Info("Backend changed", "backend", m.Name, "ready", verdict == ready, "err", err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}
