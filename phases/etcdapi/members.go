package etcdapi

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Entry is one member of the list, and how it is right now.
type Entry struct {
	ID      uint64
	Name    string // empty when the member was added and never started
	PeerURL string
	Voter   bool // not a learner
	Started bool // it has been up at some time: it told the others where its clients find it
	Alive   bool // it answers and knows a leader
	Leader  bool
	Index   uint64 // of the last entry of the log that it knows to be committed; 0 when it does not answer
}

// Title names the entry for people.
func (m Entry) Title() string {
	name := m.Name
	if name == "" {
		name = "without a name"
	}
	return fmt.Sprintf("%s (id %x, %s)", name, m.ID, m.PeerURL)
}

// Members is the member list.
type Members []Entry

// Find gives the entry of a host: by name, else by URL, since a member has no name before it
// started.
func (l Members) Find(name, peerURL string) (Entry, bool) {
	for _, is := range []func(Entry) bool{
		func(m Entry) bool { return m.Name != "" && m.Name == name },
		func(m Entry) bool { return m.PeerURL != "" && m.PeerURL == peerURL && (m.Name == "" || name == "") },
	} {
		if i := slices.IndexFunc(l, is); i >= 0 {
			return l[i], true
		}
	}
	return Entry{}, false
}

// Voters are the members that count towards the quorum.
func (l Members) Voters() Members {
	return slices.DeleteFunc(slices.Clone(l), func(m Entry) bool { return !m.Voter })
}

// Learner is the member that does not vote yet, if there is one: there is never a second.
func (l Members) Learner() (Entry, bool) {
	i := slices.IndexFunc(l, func(m Entry) bool { return !m.Voter })
	if i < 0 {
		return Entry{}, false
	}
	return l[i], true
}

// Leader is the member that leads.
func (l Members) Leader() (Entry, bool) {
	i := slices.IndexFunc(l, func(m Entry) bool { return m.Leader })
	if i < 0 {
		return Entry{}, false
	}
	return l[i], true
}

// Alive is the number of voters that answer.
func (l Members) Alive() int {
	n := 0
	for _, m := range l.Voters() {
		if m.Alive {
			n++
		}
	}
	return n
}

// Quorum is how many voters must agree.
func (l Members) Quorum() int { return len(l.Voters())/2 + 1 }

// Without is the list after an entry was removed.
func (l Members) Without(id uint64) Members {
	return slices.DeleteFunc(slices.Clone(l), func(m Entry) bool { return m.ID == id })
}

// Arithmetic tells how many members there are and how many are needed.
func (l Members) Arithmetic() string {
	return fmt.Sprintf("%d of %d voting members answer, %d are needed", l.Alive(), len(l.Voters()), l.Quorum())
}

// QuorumError says that a change of the list would leave the cluster without a quorum.
type QuorumError struct{ Text string }

func (e *QuorumError) Error() string { return e.Text }

// ExitCode is the contract's code for what is refused.
func (e *QuorumError) ExitCode() int { return 3 }

// MayRemove is nil when the entry can go: the list as it is has a quorum to agree on it, and the
// voters that stay are one by themselves.
func (l Members) MayRemove(id uint64) error {
	i := slices.IndexFunc(l, func(m Entry) bool { return m.ID == id })
	if i < 0 {
		return nil
	}
	if l.Alive() < l.Quorum() {
		return &QuorumError{fmt.Sprintf("no quorum: %s; a member list without a quorum cannot be changed: use etcd restore", l.Arithmetic())}
	}
	if !l[i].Voter {
		return nil
	}
	rest := l.Without(id)
	if len(rest.Voters()) == 0 {
		return &QuorumError{fmt.Sprintf("%s is the last voting etcd member: the cluster's data would be lost with it", l[i].Title())}
	}
	if rest.Alive() < rest.Quorum() {
		return &QuorumError{fmt.Sprintf("removing etcd member %s would lose the quorum: of the others %s", l[i].Title(), rest.Arithmetic())}
	}
	return nil
}

// Twice gives an error when two entries are the same machine: one address under two URLs. resolve
// gives the addresses of a name.
func (l Members) Twice(resolve func(name string) []string) error {
	owner := map[string]Entry{}
	for _, m := range l {
		u, err := url.Parse(m.PeerURL)
		if err != nil {
			return fmt.Errorf("etcd member %s: %w", m.Title(), err)
		}
		for _, a := range append(resolve(u.Hostname()), u.Hostname()) {
			key := strings.ToLower(a) + ":" + u.Port()
			if other, ok := owner[key]; ok && other.ID != m.ID {
				return &QuorumError{fmt.Sprintf("one address, two entries: etcd members %s and %s are both %s; remove the wrong one with etcdctl before", other.Title(), m.Title(), key)}
			}
			owner[key] = m
		}
	}
	return nil
}
