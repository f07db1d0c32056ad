package pki

import (
	"time"
)

// Expiry is when one certificate ends.
type Expiry struct {
	Host      string    `json:"host,omitempty"`
	Name      string    `json:"name"`
	NotBefore time.Time `json:"notBefore"`
	NotAfter  time.Time `json:"notAfter"`
	Serial    string    `json:"serial"` // lower-case hex
}

// Expiries gives authorities and leaves, always in the same order.
func (s *Secrets) Expiries() []Expiry {
	out := make([]Expiry, 0, len(s.leaves)+3)
	for _, name := range Authorities() {
		c := s.authorities[name].cert
		out = append(out, Expiry{"", string(name), c.NotBefore, c.NotAfter, c.SerialNumber.Text(16)})
	}
	for _, key := range s.sortedKeys() {
		l := s.leaves[key]
		out = append(out, Expiry{l.Host, l.Name, l.NotBefore(), l.NotAfter(), l.Serial()})
	}
	return out
}

// NearestEnd gives the certificate of host that ends first, or of the authorities and the shared
// certificates when host is empty. The name is empty when there is none.
func (s *Secrets) NearestEnd(host string) (name string, notAfter time.Time) {
	for _, e := range s.Expiries() {
		if e.Host == host && (name == "" || e.NotAfter.Before(notAfter)) {
			name, notAfter = e.Name, e.NotAfter
		}
	}
	return name, notAfter
}
