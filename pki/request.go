package pki

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Usage says which sides of a TLS connection a certificate may take.
type Usage string

const (
	Server Usage = "server"
	Client Usage = "client"
	Both   Usage = "server+client"
)

// extKeyUsages are the extended key usages (RFC 5280 section 4.2.1.12).
func (u Usage) extKeyUsages() []x509.ExtKeyUsage {
	switch u {
	case Server:
		return []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	case Client:
		return []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	case Both:
		return []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	}
	return nil
}

// Request is one line of the certificate table.
type Request struct {
	Host         string // the host that holds it; empty: the same for all hosts, or for no host
	Name         string // unique on its host
	CA           Authority
	Usage        Usage
	Algorithm    Algorithm // empty: ecdsa
	CommonName   string    // the user name, where it is a client
	Organization []string  // the groups, where it is a client
	DNSNames     []string
	IPs          []netip.Addr
	Readers      []string // programs that read it; for people, not part of the certificate
}

// title names the certificate for people.
func (r Request) title() string { return title(r.Host, r.Name) }

func title(host, name string) string {
	if host == "" {
		return name + " certificate"
	}
	return name + " certificate of " + host
}

func (r Request) check() error {
	switch {
	case r.Name == "":
		return errors.New("certificate request without a name")
	case !slices.Contains(Authorities(), r.CA):
		return fmt.Errorf("%s: no certificate authority %q", r.title(), r.CA)
	case r.Usage.extKeyUsages() == nil:
		return fmt.Errorf("%s: usage %q is none of %s, %s, %s", r.title(), r.Usage, Server, Client, Both)
	case r.CommonName == "":
		return fmt.Errorf("%s: common name is empty", r.title())
	}
	return nil
}

// sans are the subject alternative names as text, sorted, each once.
func (r Request) sans() []string {
	out := slices.Clone(r.DNSNames)
	for _, ip := range r.IPs {
		out = append(out, ip.String())
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func certSANs(c *x509.Certificate) []string {
	out := slices.Clone(c.DNSNames)
	for _, ip := range c.IPAddresses {
		out = append(out, ip.String())
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// names sorts host names and addresses into the two kinds of subject alternative names. Each
// value appears once, in the order given; addresses that are written as text are addresses
// (RFC 5280 section 4.2.1.6: an IP address is never a dNSName).
type names struct {
	dns []string
	ips []netip.Addr
}

func (n *names) add(values ...string) *names {
	for _, v := range values {
		if ip, err := netip.ParseAddr(strings.Trim(v, "[]")); err == nil {
			n.addIP(ip)
			continue
		}
		v = strings.ToLower(strings.TrimSuffix(v, "."))
		if v != "" && !slices.Contains(n.dns, v) {
			n.dns = append(n.dns, v)
		}
	}
	return n
}

func (n *names) addIP(ips ...netip.Addr) *names {
	for _, ip := range ips {
		ip = ip.Unmap().WithZone("")
		if ip.IsValid() && !slices.Contains(n.ips, ip) {
			n.ips = append(n.ips, ip)
		}
	}
	return n
}
