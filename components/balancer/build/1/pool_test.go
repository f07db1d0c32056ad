package main

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"
)

func names(members []*member) string {
	var list []string
	for _, m := range members {
		list = append(list, m.Name)
	}
	return strings.Join(list, " ")
}

// newPool makes backends a, b, c, ...; an upper-case letter is a preferred one.
func newPool(letters string) *pool {
	p := &pool{}
	var backends []backend
	for _, l := range letters {
		name := strings.ToLower(string(l))
		backends = append(backends, backend{Name: name, Address: name + ":6443", Prefer: name != string(l)})
	}
	p.set(backends)
	return p
}

func TestCandidatesAreReadyOnesFirstThenAllInOrder(t *testing.T) {
	tests := []struct {
		backends, ready string
		conns           map[string]int
		want            string
	}{
		{backends: "abc", want: "a b c"},
		{backends: "abC", want: "c a b"},
		{backends: "abc", ready: "b", want: "b a c"},
		{backends: "abC", ready: "b", want: "b c a"},
		{backends: "abC", ready: "abc", conns: map[string]int{"c": 9, "b": 1}, want: "c a b"},
		{backends: "abc", ready: "abc", conns: map[string]int{"a": 2, "b": 1}, want: "c b a"},
	}
	for _, test := range tests {
		t.Run(fmt.Sprintf("%s/%s", test.backends, test.ready), func(t *testing.T) {
			p := newPool(test.backends)
			for _, m := range p.members {
				m.ready = strings.Contains(test.ready, m.Name)
				for range test.conns[m.Name] {
					p.attach(m, &link{})
				}
			}
			if got := names(p.candidates()); got != test.want {
				t.Errorf("candidates = %s, want %s", got, test.want)
			}
		})
	}
}

func TestCandidatesTakeTurnsAmongEquals(t *testing.T) {
	p := newPool("abc")
	first := map[string]int{}
	for _, m := range p.members {
		m.ready = true
	}
	for range 9 {
		first[p.candidates()[0].Name]++
	}
	if first["a"] != 3 || first["b"] != 3 || first["c"] != 3 {
		t.Errorf("first candidates: %v, want each 3 times", first)
	}
}

func TestAServerThatStillStartsComesAfterThoseThatWereReady(t *testing.T) {
	p := newPool("abC") // c is on this host and starts
	now := time.Unix(0, 0)
	late := errors.New("deadline exceeded")
	for _, step := range []struct {
		verdicts [3]verdict
		want     string
	}{
		{[3]verdict{ready, ready, unreachable}, "c a b"}, // nobody was ready yet
		{[3]verdict{ready, ready, notReady}, "a b c"},    // both are now
		{[3]verdict{notReady, notReady, notReady}, "a b c"},
		{[3]verdict{unreachable, notReady, notReady}, "b c a"},
	} {
		for i, v := range step.verdicts {
			p.record(p.members[i], v, late, now)
		}
		if got := names(p.candidates()); got != step.want {
			t.Errorf("after %v: candidates = %s, want %s", step.verdicts, got, step.want)
		}
	}
}

func TestReadinessFallsAtOnceAndRisesAfterTwo(t *testing.T) {
	p := newPool("a")
	m := p.members[0]
	now := time.Unix(0, 0)
	for i, step := range []struct {
		v    verdict
		want bool
	}{
		{ready, false}, {ready, true}, {ready, true}, {notReady, false}, {ready, false}, {notReady, false}, {ready, false}, {ready, true}, {unreachable, false},
	} {
		p.record(m, step.v, errors.New("no"), now)
		if m.ready != step.want {
			t.Errorf("after check %d: ready = %t, want %t", i, m.ready, step.want)
		}
	}
}

func TestOpenConnectionsAreCutOnlyWhenTheHostIsDead(t *testing.T) {
	at := func(ms int) time.Time { return time.UnixMilli(int64(ms)) }
	type step struct {
		v  verdict
		at time.Time
	}
	tests := map[string]struct {
		steps []step
		cut   bool
	}{
		"not ready for long":              {[]step{{notReady, at(0)}, {notReady, at(60000)}}, false},
		"unreachable for a moment":        {[]step{{unreachable, at(0)}, {unreachable, at(1900)}}, false},
		"unreachable for two seconds":     {[]step{{unreachable, at(0)}, {unreachable, at(2000)}}, true},
		"silent, then unreachable":        {[]step{{notReady, at(0)}, {notReady, at(1000)}, {unreachable, at(2000)}}, true},
		"back between two short failures": {[]step{{unreachable, at(0)}, {ready, at(1000)}, {unreachable, at(1500)}, {unreachable, at(2500)}}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := newPool("a")
			client, server := net.Pipe()
			l := &link{client: client, server: server}
			p.attach(p.members[0], l)
			for _, s := range test.steps {
				p.record(p.members[0], s.v, errors.New("no"), s.at)
			}
			if l.cut != test.cut {
				t.Errorf("cut = %t, want %t", l.cut, test.cut)
			}
		})
	}
}

func TestSetKeepsWhatStaysAndCutsWhatGoes(t *testing.T) {
	p := newPool("ab")
	a, b := p.members[0], p.members[1]
	a.ready = true
	links := map[*member]*link{}
	for _, m := range p.members {
		client, server := net.Pipe()
		links[m] = &link{client: client, server: server}
		p.attach(m, links[m])
	}
	p.set([]backend{{Name: "c", Address: "c:6443"}, {Name: "a", Address: "a:6443", Prefer: true}})
	if got := names(p.current()); got != "c a" {
		t.Errorf("members = %s", got)
	}
	if !slices.Contains(p.current(), a) || !a.ready || !a.Prefer || links[a].cut {
		t.Error("the backend that stays lost its state or connection")
	}
	if !links[b].cut || p.attach(b, links[b]) {
		t.Error("the removed backend still has connections")
	}
}
