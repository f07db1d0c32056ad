package main

import (
	"cmp"
	"net"
	"slices"
	"sync"
	"time"
)

const (
	rise = 2 // checks that must pass before a server is ready again; one failed check ends it
	// deadAfter is how long a host must be out of reach before its open
	// connections are cut: their clients would else wait for TCP to give up.
	deadAfter = 2 * time.Second
)

// verdict is the result of one check.
type verdict int

const (
	ready       verdict = iota // /readyz said 200
	notReady                   // something answered, but not with 200 in time: open connections may still work
	unreachable                // no connection could be opened: refused, no route, or no answer
)

// member is a backend with what is known of it. The pool's lock guards it.
type member struct {
	backend
	ready        bool
	started      bool      // was ready since it was last out of reach: its caches are filled
	passed       int       // checks passed in a row
	failingSince time.Time // first failed check of the current row, zero while checks pass
	lastError    string
	conns        map[*link]struct{}
}

// link is a client's connection and its connection to a backend.
type link struct {
	client, server net.Conn
	cut            bool
}

// pool knows the backends, their state and their open connections. Safe for
// concurrent use.
type pool struct {
	mu      sync.Mutex
	members []*member
	turn    int
}

// set replaces the backends. A backend that stays (same name and address)
// keeps its state and connections; those of a removed one are cut.
func (p *pool) set(backends []backend) {
	p.mu.Lock()
	defer p.mu.Unlock()
	old := p.members
	p.members = nil
	for _, b := range backends {
		m := &member{backend: b, conns: map[*link]struct{}{}}
		if i := slices.IndexFunc(old, func(o *member) bool { return o.Name == b.Name && o.Address == b.Address }); i >= 0 {
			m = old[i]
			m.backend = b
			old = slices.Delete(old, i, i+1)
		}
		p.members = append(p.members, m)
	}
	for _, m := range old {
		m.cutAll()
	}
}

// candidates gives the members to try for a new connection, best first: ready
// and preferred, ready with the fewest connections, then the rest, so that a
// cluster can come up before anything is ready. Of the rest those come first
// that were ready: on a busy machine a check of theirs may have been late,
// while an API server that still starts knows no roles and forbids everything.
func (p *pool) candidates() []*member {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.members) == 0 {
		return nil
	}
	p.turn++
	from := p.turn % len(p.members)
	list := slices.Concat(p.members[from:], p.members[:from])
	isReady := func(m *member) bool { return m.ready }
	rest := slices.DeleteFunc(slices.Clone(p.members), isReady)
	list = slices.DeleteFunc(list, func(m *member) bool { return !m.ready })
	slices.SortStableFunc(list, func(a, b *member) int {
		return cmp.Or(preferredFirst(a, b), cmp.Compare(len(a.conns), len(b.conns)))
	})
	slices.SortStableFunc(rest, func(a, b *member) int {
		return cmp.Or(trueFirst(a.started, b.started), preferredFirst(a, b))
	})
	return append(list, rest...)
}

func preferredFirst(a, b *member) int { return trueFirst(a.Prefer, b.Prefer) }

func trueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// attach records an open link. It says false when the member has left the
// pool meanwhile: the caller then closes the link.
func (p *pool) attach(m *member, l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Contains(p.members, m) {
		return false
	}
	m.conns[l] = struct{}{}
	return true
}

func (p *pool) detach(m *member, l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(m.conns, l)
}

// record takes a check's verdict, made at now, and reports whether the
// member's readiness changed.
func (p *pool) record(m *member, v verdict, err error, now time.Time) (changed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	was := m.ready
	if v == ready {
		m.passed++
		m.failingSince, m.lastError = time.Time{}, ""
		m.ready = m.ready || m.passed >= rise
		m.started = m.started || m.ready
		return m.ready != was
	}
	m.ready, m.passed, m.lastError = false, 0, err.Error()
	if m.failingSince.IsZero() {
		m.failingSince = now
	}
	m.started = m.started && v != unreachable
	if v == unreachable && now.Sub(m.failingSince) >= deadAfter {
		m.cutAll()
	}
	return m.ready != was
}

// cutAll closes both ends of every link; the caller holds the lock. The links
// leave the member when their copying ends.
func (m *member) cutAll() {
	for l := range m.conns {
		if !l.cut {
			l.cut = true
			l.client.Close()
			l.server.Close()
		}
	}
}

// cut closes all open links and empties the pool: what is dialled after it
// cannot be attached.
func (p *pool) cut() { p.set(nil) }

// current gives the members of now.
func (p *pool) current() []*member {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.members)
}

// status is one row of the status page.
type status struct {
	Name        string `json:"name"`
	Address     string `json:"address"`
	Prefer      bool   `json:"prefer"`
	Ready       bool   `json:"ready"`
	Connections int    `json:"connections"`
	Error       string `json:"error,omitempty"` // of the last check
}

func (p *pool) table() []status {
	p.mu.Lock()
	defer p.mu.Unlock()
	rows := []status{}
	for _, m := range p.members {
		rows = append(rows, status{m.Name, m.Address, m.Prefer, m.ready, len(m.conns), m.lastError})
	}
	return rows
}
