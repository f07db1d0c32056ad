package hosttest

import (
	"net"
	"sync"
)

// gate stops traffic while it is shut.
type gate struct {
	mu   sync.Mutex
	cond *sync.Cond
	down bool
}

func newGate() *gate {
	g := &gate{}
	g.cond = sync.NewCond(&g.mu)
	return g
}

func (g *gate) shut() { g.set(true) }
func (g *gate) open() { g.set(false) }

func (g *gate) set(down bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.down = down
	g.cond.Broadcast()
}

func (g *gate) pass() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.down {
		g.cond.Wait()
	}
}

// gatedConn is a connection through a gate.
type gatedConn struct {
	net.Conn
	gate *gate
}

func (c *gatedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.gate.pass()
	return n, err
}

func (c *gatedConn) Write(p []byte) (int, error) {
	c.gate.pass()
	return c.Conn.Write(p)
}
