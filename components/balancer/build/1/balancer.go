package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/inetaf/tcpproxy"
)

const (
	dialTimeout = time.Second // to one backend; the next is tried after it
	// stopGrace is how long open connections may end by themselves on stop.
	stopGrace = time.Second
	// lookEvery is how often the configuration file is looked at.
	lookEvery = time.Second
)

// balancer is the running program.
type balancer struct {
	path   string
	log    *slog.Logger
	reload <-chan os.Signal
	ready  func() error                  // called once when all addresses are listened on
	bound  func(name string, a net.Addr) // tests learn chosen ports; may be nil

	pool   pool
	config config
	links  sync.WaitGroup
}

// run serves until ctx ends, then lets open connections end for stopGrace.
// It gives an error when the first configuration or an address cannot be used.
func (b *balancer) run(ctx context.Context) error {
	seen := fileState(b.path)
	c, err := loadConfig(b.path)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	b.config = c
	failed := make(chan error, len(c.Listen)+1)
	closers, err := b.listen(c, failed)
	defer func() {
		for _, closer := range closers {
			closer()
		}
	}()
	if err != nil {
		return err
	}
	stopChecks := b.use(ctx, c)
	if err := b.ready(); err != nil {
		return fmt.Errorf("tell systemd that the balancer is ready: %w", err)
	}
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			stopChecks()
			for _, closer := range closers {
				closer()
			}
			b.drain()
			return nil
		case err := <-failed:
			return err
		case <-b.reload:
		case <-ticker.C:
			if same(seen, fileState(b.path)) {
				continue
			}
		}
		seen = fileState(b.path)
		if next, ok := b.read(); ok {
			stopChecks()
			stopChecks = b.use(ctx, next)
		}
	}
}

// read loads a changed configuration. One that cannot be used is logged, and
// the running one stays.
func (b *balancer) read() (config, bool) {
	next, err := loadConfig(b.path)
	if err != nil {
		b.log.Error("The new configuration is not used", "err", err)
		return config{}, false
	}
	if !next.sameListeners(b.config) {
		b.log.Error("The listen addresses have changed: restart the balancer to use them")
	}
	b.log.Info("The configuration is read again", "backends", len(next.Backends))
	return next, true
}

// use gives the pool c's backends and checks each until stop is called.
func (b *balancer) use(ctx context.Context, c config) (stop func()) {
	b.pool.set(c.Backends)
	checkCtx, cancel := context.WithCancel(ctx)
	checks := newChecker(c)
	var running sync.WaitGroup
	for _, m := range b.pool.current() {
		running.Go(func() { b.watch(checkCtx, m, checks) })
	}
	return func() {
		cancel()
		running.Wait()
		checks.client.CloseIdleConnections()
	}
}

// listen opens all addresses. A listener that ends later reports to failed.
func (b *balancer) listen(c config, failed chan<- error) (closers []func(), err error) {
	for _, address := range c.Listen {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			return closers, fmt.Errorf("listen for clients: %w", err)
		}
		b.tell("clients", listener.Addr())
		closers = append(closers, func() { listener.Close() })
		go func() { failed <- b.accept(listener) }()
	}
	if c.Health == "" {
		return closers, nil
	}
	listener, err := net.Listen("tcp", c.Health)
	if err != nil {
		return closers, fmt.Errorf("listen for the status page: %w", err)
	}
	b.tell("health", listener.Addr())
	server := &http.Server{Handler: http.HandlerFunc(b.serveStatus), ReadHeaderTimeout: 5 * time.Second}
	closers = append(closers, func() { server.Close() })
	go func() { failed <- fmt.Errorf("the status page ended: %w", server.Serve(listener)) }()
	return closers, nil
}

func (b *balancer) tell(name string, a net.Addr) {
	if b.bound != nil {
		b.bound(name, a)
	}
}

// accept serves the clients of one listener until it is closed. Running out
// of file descriptors or memory passes: it waits and goes on, as net/http does.
func (b *balancer) accept(listener net.Listener) error {
	for {
		client, err := listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("accept a client: %w", err)
		case err != nil:
			b.log.Error("Cannot accept a client", "err", err)
			<-time.After(50 * time.Millisecond)
		default:
			b.links.Go(func() { b.serve(client) })
		}
	}
}

// serve joins a client with the first backend that can be dialled and copies
// until both directions have ended.
func (b *balancer) serve(client net.Conn) {
	var (
		to     *member
		opened *link
	)
	proxy := tcpproxy.DialProxy{
		DialTimeout: -1, // each backend has its own
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			var err error
			to, opened, err = b.dial(ctx, network, client)
			if err != nil {
				return nil, err
			}
			return opened.server, nil
		},
		OnDialError: func(net.Conn, error) { client.Close() }, // logged by dial
		// The period after which a silent peer is probed; see also deadAfter.
		KeepAlivePeriod: 15 * time.Second,
	}
	proxy.HandleConn(client)
	if opened != nil {
		b.pool.detach(to, opened)
	}
}

func (b *balancer) dial(ctx context.Context, network string, client net.Conn) (*member, *link, error) {
	dialer := net.Dialer{Timeout: dialTimeout}
	problems := []error{errors.New("no backend could be dialled")}
	for _, m := range b.pool.candidates() {
		server, err := dialer.DialContext(ctx, network, m.Address)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", m.Name, err))
			continue
		}
		l := &link{client: client, server: server}
		if b.pool.attach(m, l) {
			return m, l, nil
		}
		server.Close()
	}
	err := errors.Join(problems...)
	b.log.Error("A client is turned away", "err", err)
	return nil, nil, err
}

// drain waits until all links have ended, and cuts what is left after stopGrace.
func (b *balancer) drain() {
	cut := time.AfterFunc(stopGrace, b.pool.cut)
	defer cut.Stop()
	b.links.Wait()
}

// serveStatus answers 200 with a table of the backends: the page says what the
// balancer knows, not whether the cluster is well.
func (b *balancer) serveStatus(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.Encode(struct {
		Version  string   `json:"version"`
		Backends []status `json:"backends"`
	}{version, b.pool.table()})
}

// fileState identifies a file's content well enough to see a replaced file;
// nil when it is not there.
func fileState(path string) os.FileInfo {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	return info
}

func same(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}
