package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// apiServer answers /readyz and says its name to everything else.
type apiServer struct {
	*httptest.Server
	name    string
	unready atomic.Bool // answer 503
}

func newAPIServer(t *testing.T, name string) *apiServer {
	s := &apiServer{name: name}
	s.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/readyz" && s.unready.Load() {
			w.Header().Set("Connection", "close") // the next check dials
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		fmt.Fprint(w, name)
	}))
	t.Cleanup(s.Close)
	return s
}

// lab is a running balancer before API servers.
type lab struct {
	t               *testing.T
	path, ca        string
	clients, health string
	hangup          chan os.Signal
	stop            context.CancelFunc
	ended           chan error
	tls             *tls.Config
}

func newLab(t *testing.T, backends ...backend) *lab {
	t.Helper()
	dir := t.TempDir()
	any := httptest.NewTLSServer(nil) // all of httptest's servers have one certificate
	defer any.Close()
	l := &lab{t: t, path: filepath.Join(dir, "config.json"), ca: filepath.Join(dir, "ca.crt"), hangup: make(chan os.Signal, 1), ended: make(chan error, 1)}
	l.tls = any.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	l.tls.ServerName = "example.com"
	write(t, l.ca, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: any.Certificate().Raw})))
	l.configure(backends...)
	ready := make(chan struct{})
	b := &balancer{path: l.path, log: slog.New(slog.DiscardHandler), reload: l.hangup, ready: func() error { close(ready); return nil }}
	b.bound = func(name string, a net.Addr) {
		if name == "health" {
			l.health = a.String()
		} else {
			l.clients = a.String()
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	l.stop = stop
	go func() { l.ended <- b.run(ctx) }()
	t.Cleanup(func() { stop(); <-l.ended })
	select {
	case <-ready:
	case err := <-l.ended:
		l.ended <- err
		t.Fatal(err)
	}
	return l
}

func (l *lab) configure(backends ...backend) {
	l.t.Helper()
	data, err := json.Marshal(config{Listen: []string{"127.0.0.1:0"}, Health: "127.0.0.1:0", CAFile: l.ca, ServerName: "example.com", Backends: backends})
	if err != nil {
		l.t.Fatal(err)
	}
	write(l.t, l.path, string(data))
}

func of(s *apiServer) backend { return backend{Name: s.name, Address: s.Listener.Addr().String()} }

func preferred(s *apiServer) backend {
	b := of(s)
	b.Prefer = true
	return b
}

// conn is one client connection that stays open.
type conn struct {
	net.Conn
	reader *bufio.Reader
}

func (l *lab) connect() (*conn, error) {
	c, err := tls.Dial("tcp", l.clients, l.tls)
	if err != nil {
		return nil, err
	}
	l.t.Cleanup(func() { c.Close() })
	return &conn{c, bufio.NewReader(c)}, nil
}

// ask gives the name of the API server behind the connection.
func (c *conn) ask() (string, error) {
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: example.com\r\n\r\n"); err != nil {
		return "", err
	}
	response, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	name, err := io.ReadAll(response.Body)
	return string(name), err
}

func (l *lab) mustConnect(want string) *conn {
	l.t.Helper()
	c, err := l.connect()
	if err != nil {
		l.t.Fatal(err)
	}
	if got, err := c.ask(); err != nil || got != want {
		l.t.Fatalf("a new connection reaches %q, %v; want %q", got, err, want)
	}
	return c
}

// until asks the status page until the backend is as wanted.
func (l *lab) until(name string, ready bool) {
	l.t.Helper()
	l.eventually(fmt.Sprintf("%s ready %t", name, ready), func() bool {
		for _, row := range l.status() {
			if row.Name == name {
				return row.Ready == ready
			}
		}
		return false
	})
}

func (l *lab) status() []status {
	l.t.Helper()
	response, err := http.Get("http://" + l.health)
	if err != nil {
		l.t.Fatal(err)
	}
	defer response.Body.Close()
	var page struct{ Backends []status }
	if err := json.NewDecoder(response.Body).Decode(&page); err != nil || response.StatusCode != 200 {
		l.t.Fatal(response.Status, err)
	}
	return page.Backends
}

func (l *lab) eventually(what string, condition func() bool) {
	l.t.Helper()
	deadline := time.After(time.Minute)
	for tick := time.Tick(10 * time.Millisecond); !condition(); {
		select {
		case <-tick:
		case <-deadline:
			l.t.Fatalf("waited for: %s; status %+v", what, l.status())
		}
	}
}

func TestNewConnectionsAvoidAServerThatIsNotReadyAndOpenOnesStay(t *testing.T) {
	one, two := newAPIServer(t, "one"), newAPIServer(t, "two")
	l := newLab(t, of(one), preferred(two))
	l.until("one", true)
	l.until("two", true)
	open := l.mustConnect("two")
	two.unready.Store(true)
	l.until("two", false)
	l.mustConnect("one")
	if got, err := open.ask(); err != nil || got != "two" {
		t.Errorf("the open connection answers %q, %v", got, err)
	}
	two.unready.Store(false)
	l.until("two", true)
	l.mustConnect("two")
}

func TestOpenConnectionsOfADeadHostEnd(t *testing.T) {
	one, two := newAPIServer(t, "one"), newAPIServer(t, "two")
	l := newLab(t, preferred(one), of(two))
	l.until("one", true)
	l.until("two", true)
	open := l.mustConnect("one")
	one.unready.Store(true)
	one.Listener.Close() // connections stay, new ones are refused
	if _, err := open.Read(make([]byte, 1)); err == nil {
		t.Error("the open connection was not cut")
	}
	l.mustConnect("two")
}

func TestFailedDialGoesOnToTheNextBackend(t *testing.T) {
	one, two := newAPIServer(t, "one"), newAPIServer(t, "two")
	l := newLab(t, preferred(one), of(two))
	l.until("one", true)
	l.until("two", true)
	one.Listener.Close() // the kept connection of the checks still says ready
	l.mustConnect("two")
}

func TestNothingReadyTriesAllInOrder(t *testing.T) {
	gone, starting := newAPIServer(t, "gone"), newAPIServer(t, "starting")
	gone.Listener.Close()
	starting.unready.Store(true)
	l := newLab(t, of(gone), of(starting))
	l.mustConnect("starting")
	starting.Listener.Close()
	if _, err := l.connect(); err == nil {
		t.Error("a client was served with no backend")
	}
}

func TestServerWithAForeignNameIsNotReady(t *testing.T) {
	one := newAPIServer(t, "one")
	l := newLab(t, of(one))
	l.until("one", true)
	data, err := os.ReadFile(l.path)
	if err != nil {
		t.Fatal(err)
	}
	var c config
	if err := json.Unmarshal(data, &c); err != nil {
		t.Fatal(err)
	}
	c.ServerName = "kubernetes.invalid"
	if data, err = json.Marshal(c); err != nil {
		t.Fatal(err)
	}
	write(t, l.path, string(data))
	l.hangup <- syscall.SIGHUP
	l.until("one", false)
}

func TestReplacedFileChangesBackendsAndKeepsConnectionsOfThoseThatStay(t *testing.T) {
	one, two, three := newAPIServer(t, "one"), newAPIServer(t, "two"), newAPIServer(t, "three")
	l := newLab(t, preferred(one), of(two))
	l.until("one", true)
	stays := l.mustConnect("one")
	l.configure(of(one), of(two), preferred(three)) // no signal: the file is seen
	l.until("three", true)
	goes := l.mustConnect("three")
	l.configure(preferred(one), of(two))
	l.hangup <- syscall.SIGHUP
	if _, err := goes.Read(make([]byte, 1)); err == nil {
		t.Error("a connection to a removed backend stays")
	}
	if got, err := stays.ask(); err != nil || got != "one" {
		t.Errorf("the connection that should stay answers %q, %v", got, err)
	}
	write(t, l.path, "{broken")
	l.hangup <- syscall.SIGHUP
	l.mustConnect("one")
}

func TestStopEndsOpenConnectionsAndListeners(t *testing.T) {
	one := newAPIServer(t, "one")
	l := newLab(t, of(one))
	open := l.mustConnect("one")
	l.stop()
	if err := <-l.ended; err != nil {
		t.Errorf("run: %v", err)
	}
	l.ended <- nil
	if _, err := open.Read(make([]byte, 1)); err == nil {
		t.Error("the connection is still open")
	}
	if c, err := net.Dial("tcp", l.clients); err == nil {
		c.Close()
		t.Error("the address is still listened on")
	}
}
