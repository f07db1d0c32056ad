package pki

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"slices"
	"strings"
	"time"
)

const (
	// A certificate is renewed when this part of its life is over,
	renewNumerator, renewDenominator = 2, 3
	// or when no more than this is left of it.
	RenewWindow = 30 * 24 * time.Hour
)

// Action is what happens to a certificate.
type Action string

const (
	Issue   Action = "issue"    // there was none
	Reissue Action = "re-issue" // there was one that is no longer right
	Drop    Action = "drop"     // nobody asks for it any more
)

// Change is one certificate that is issued or dropped, and why.
type Change struct {
	Host   string   `json:"host,omitempty"`
	Name   string   `json:"name"`
	Action Action   `json:"action"`
	Reason string   `json:"reason"`           // short: "SAN +2", "past 2/3 of its life"
	Detail []string `json:"detail,omitempty"` // "+api.example.test", "-192.0.2.7"
}

func (c Change) String() string {
	return fmt.Sprintf("%s %s: %s", c.Action, title(c.Host, c.Name), c.Reason)
}

// Due says what Ensure would do, and does nothing. Changes come in the order of reqs.
func (s *Secrets) Due(reqs []Request, now time.Time) ([]Change, error) {
	_, changes, err := s.due(reqs, now)
	return changes, err
}

// due gives the requests that need a new certificate, and for each the change at the same index.
func (s *Secrets) due(reqs []Request, now time.Time) ([]Request, []Change, error) {
	if err := s.checkAll(reqs, now); err != nil {
		return nil, nil, err
	}
	found := make([]*Change, len(reqs))
	each(len(reqs), func(i int) error {
		found[i] = s.changeFor(reqs[i], now)
		return nil
	})
	var todo []Request
	var changes []Change
	for i, c := range found {
		if c != nil {
			todo = append(todo, reqs[i])
			changes = append(changes, *c)
		}
	}
	return todo, changes, nil
}

// checkAll refuses requests that cannot be served, all at once.
func (s *Secrets) checkAll(reqs []Request, now time.Time) error {
	var errs []error
	seen := make(map[leafKey]bool, len(reqs))
	used := make(map[Authority]bool, 3)
	for _, r := range reqs {
		if err := r.check(); err != nil {
			errs = append(errs, err)
			continue
		}
		if seen[leafKey{r.Host, r.Name}] {
			errs = append(errs, fmt.Errorf("%s is asked for twice", r.title()))
		}
		seen[leafKey{r.Host, r.Name}] = true
		used[r.CA] = true
	}
	for _, name := range Authorities() {
		if end := s.authorities[name].NotAfter(); used[name] && !now.Before(end) {
			errs = append(errs, fmt.Errorf("certificate authority %s ended on %s: it can sign nothing more, rotate it first", name, end.Format(time.DateOnly)))
		}
	}
	return errors.Join(errs...)
}

// changeFor gives nil when the certificate that is there stays.
func (s *Secrets) changeFor(r Request, now time.Time) *Change {
	c := &Change{Host: r.Host, Name: r.Name}
	leaf, ok := s.Leaf(r.Host, r.Name)
	if !ok {
		c.Action, c.Reason = Issue, "missing"
		return c
	}
	ca := s.authorities[r.CA]
	reasons, detail := differences(r, leaf, ca)
	if why := tooOld(leaf, ca, now); why != "" {
		reasons = append(reasons, why)
	}
	if len(reasons) == 0 {
		return nil
	}
	c.Action, c.Reason, c.Detail = Reissue, strings.Join(reasons, ", "), detail
	return c
}

// differences compares what is asked for with the certificate itself, not with a note of what
// was asked for when it was issued. The order of names does not matter.
func differences(r Request, l Leaf, ca CA) (reasons, detail []string) {
	cert := l.cert
	if cert.CheckSignatureFrom(ca.cert) != nil {
		reasons = append(reasons, "not signed by the present "+string(ca.Name))
	}
	if cert.Subject.CommonName != r.CommonName {
		reasons = append(reasons, "common name")
		detail = append(detail, "-"+cert.Subject.CommonName, "+"+r.CommonName)
	}
	more, less := compare(r.Organization, cert.Subject.Organization)
	if len(more)+len(less) > 0 {
		reasons = append(reasons, "organization")
		detail = append(append(detail, more...), less...)
	}
	more, less = compare(r.sans(), certSANs(cert))
	if text := counts(len(more), len(less)); text != "" {
		reasons = append(reasons, "SAN"+text)
		detail = append(append(detail, more...), less...)
	}
	if !slices.Equal(r.Usage.extKeyUsages(), cert.ExtKeyUsage) {
		reasons = append(reasons, "usage")
	}
	if want, have := r.Algorithm.orDefault(), algorithmOf(cert.PublicKey); want != have {
		reasons = append(reasons, fmt.Sprintf("key %s, was %s", want, have))
	}
	return reasons, detail
}

// compare gives what is only in want with a plus, and what is only in have with a minus.
func compare(want, have []string) (more, less []string) {
	for _, v := range want {
		if !slices.Contains(have, v) {
			more = append(more, "+"+v)
		}
	}
	for _, v := range have {
		if !slices.Contains(want, v) {
			less = append(less, "-"+v)
		}
	}
	return more, less
}

// counts is " +2 -1", without a part that is zero.
func counts(more, less int) string {
	var b strings.Builder
	if more > 0 {
		fmt.Fprintf(&b, " +%d", more)
	}
	if less > 0 {
		fmt.Fprintf(&b, " -%d", less)
	}
	return b.String()
}

// tooOld says why a certificate is to be renewed. One that would not live longer by it stays:
// near the end of an authority every run would renew everything.
func tooOld(l Leaf, ca CA, now time.Time) string {
	begin, end := l.NotBefore(), l.NotAfter()
	if !leafEnd(ca, LeafLife, now).After(end) {
		return ""
	}
	switch {
	case !now.Before(end):
		return "expired on " + end.Format(time.DateOnly)
	case end.Sub(now) <= RenewWindow:
		return fmt.Sprintf("expires in %d days", int(end.Sub(now).Hours()/24))
	case now.Sub(begin) >= end.Sub(begin)/renewDenominator*renewNumerator:
		return fmt.Sprintf("past %d/%d of its life", renewNumerator, renewDenominator)
	}
	return ""
}

// Ensure issues the certificates of reqs that are missing, that differ from what is asked for,
// or that are near their end, and says which and why, in the order of reqs. All others keep
// their bytes. It drops nothing, see Prune. On an error s is as it was.
func (s *Secrets) Ensure(reqs []Request, now time.Time, rand io.Reader) (changed []Change, err error) {
	todo, changes, err := s.due(reqs, now)
	if err != nil {
		return nil, err
	}
	leaves, err := s.issueAll(todo, now, rand)
	if err != nil {
		return nil, err
	}
	for _, l := range leaves {
		s.leaves[leafKey{l.Host, l.Name}] = l
	}
	return changes, nil
}

// issueAll signs on all processors; the result has the order of reqs.
func (s *Secrets) issueAll(reqs []Request, now time.Time, rand io.Reader) ([]Leaf, error) {
	serials := make([]*big.Int, len(reqs))
	for i := range reqs {
		serial, err := newSerial(rand)
		if err != nil {
			return nil, fmt.Errorf("number certificates: %w", err)
		}
		serials[i] = serial
	}
	leaves := make([]Leaf, len(reqs))
	rand = &sharedReader{r: rand}
	err := each(len(reqs), func(i int) error {
		leaf, err := issue(reqs[i], s.authorities[reqs[i].CA], serials[i], LeafLife, now, rand)
		if err != nil {
			return fmt.Errorf("issue %s: %w", reqs[i].title(), err)
		}
		leaves[i] = leaf
		return nil
	})
	return leaves, err
}

// Sign issues one certificate that lives for life and is not kept in s: for a person's kubeconfig.
func (s *Secrets) Sign(r Request, life time.Duration, now time.Time, rand io.Reader) (Leaf, error) {
	if life <= 0 {
		return Leaf{}, fmt.Errorf("issue %s: lifetime %s is not positive", r.title(), life)
	}
	if err := s.checkAll([]Request{r}, now); err != nil {
		return Leaf{}, err
	}
	serial, err := newSerial(rand)
	if err != nil {
		return Leaf{}, fmt.Errorf("number certificate: %w", err)
	}
	leaf, err := issue(r, s.authorities[r.CA], serial, life, now, rand)
	if err != nil {
		return Leaf{}, fmt.Errorf("issue %s: %w", r.title(), err)
	}
	return leaf, nil
}

// Prune drops the certificates that are not in reqs, which must be the whole table, and says
// which: those of hosts that are gone.
func (s *Secrets) Prune(reqs []Request) []Change {
	asked := make(map[leafKey]bool, len(reqs))
	for _, r := range reqs {
		asked[leafKey{r.Host, r.Name}] = true
	}
	var changes []Change
	for _, key := range s.sortedKeys() {
		if !asked[key] {
			delete(s.leaves, key)
			changes = append(changes, Change{Host: key.host, Name: key.name, Action: Drop, Reason: "no longer asked for"})
		}
	}
	return changes
}

func (s *Secrets) sortedKeys() []leafKey {
	return slices.SortedFunc(maps.Keys(s.leaves), func(a, b leafKey) int {
		return cmp.Or(cmp.Compare(a.host, b.host), cmp.Compare(a.name, b.name))
	})
}
