package pki

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"slices"
	"time"
)

// Leaf is an issued certificate with its key.
type Leaf struct {
	Host, Name string
	CertPEM    []byte
	KeyPEM     Secret

	cert *x509.Certificate
}

// Bundle is certificate and key in one PEM, in this order. Components take the same path for
// both, so one rename replaces the pair and there is no moment with only one of them new.
func (l Leaf) Bundle() Secret {
	return NewSecret(slices.Concat(l.CertPEM, l.KeyPEM.Reveal()))
}

// NotBefore is when the certificate begins to be valid.
func (l Leaf) NotBefore() time.Time { return l.cert.NotBefore }

// NotAfter is when it ends.
func (l Leaf) NotAfter() time.Time { return l.cert.NotAfter }

// Serial is the serial number in lower-case hex, to compare with what a listener shows.
func (l Leaf) Serial() string { return fmt.Sprintf("%x", l.cert.SerialNumber) }

// User is the user name that the certificate gives a client.
func (l Leaf) User() string { return l.cert.Subject.CommonName }

// SANs are the certificate's names and addresses, sorted.
func (l Leaf) SANs() []string { return certSANs(l.cert) }

func (l Leaf) String() string               { return title(l.Host, l.Name) }
func (l Leaf) GoString() string             { return l.String() }
func (l Leaf) Format(f fmt.State, _ rune)   { io.WriteString(f, l.String()) }
func (l Leaf) LogValue() slog.Value         { return slog.StringValue(l.String()) }
func (l Leaf) MarshalJSON() ([]byte, error) { return []byte(`"` + hidden + `"`), nil }

// LeafLife is how long a certificate lives, unless its authority ends before.
const LeafLife = 365 * 24 * time.Hour

// leafEnd is when a certificate that is issued now would end. A leaf does not outlive its
// authority: the chain would be refused from then on (RFC 5280 section 6.1.3).
func leafEnd(ca CA, life time.Duration, now time.Time) time.Time {
	end := now.UTC().Truncate(time.Second).Add(life)
	if end.After(ca.cert.NotAfter) {
		return ca.cert.NotAfter
	}
	return end
}

// issue signs one leaf with a new key.
func issue(r Request, ca CA, serial *big.Int, life time.Duration, now time.Time, rand io.Reader) (Leaf, error) {
	alg := r.Algorithm.orDefault()
	key, err := alg.generate(rand)
	if err != nil {
		return Leaf{}, fmt.Errorf("make key: %w", err)
	}
	id, err := keyID(key.Public())
	if err != nil {
		return Leaf{}, err
	}
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: r.CommonName, Organization: r.Organization},
		NotBefore:             now.UTC().Truncate(time.Second).Add(-Backdate),
		NotAfter:              leafEnd(ca, life, now),
		KeyUsage:              alg.keyUsage(),
		ExtKeyUsage:           r.Usage.extKeyUsages(),
		BasicConstraintsValid: true,
		SubjectKeyId:          id,
		DNSNames:              r.DNSNames,
	}
	for _, ip := range r.IPs {
		template.IPAddresses = append(template.IPAddresses, ip.AsSlice())
	}
	der, err := x509.CreateCertificate(rand, template, ca.cert, key.Public(), ca.key)
	if err != nil {
		return Leaf{}, fmt.Errorf("sign with %s: %w", ca.Name, err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return Leaf{}, fmt.Errorf("read the new certificate: %w", err)
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return Leaf{}, err
	}
	return Leaf{Host: r.Host, Name: r.Name, CertPEM: encodeCert(der), KeyPEM: keyPEM, cert: cert}, nil
}

// readLeaf puts a leaf together from its stored parts.
func readLeaf(host, name string, certPEM []byte, keyPEM Secret) (Leaf, error) {
	cert, err := decodeCert(certPEM)
	if err != nil {
		return Leaf{}, fmt.Errorf("%s: %w", title(host, name), err)
	}
	key, err := decodeKey(keyPEM)
	if err != nil {
		return Leaf{}, fmt.Errorf("%s: %w", title(host, name), err)
	}
	if !samePublic(cert.PublicKey, key.Public()) {
		return Leaf{}, fmt.Errorf("%s: %w", title(host, name), errForeignKey)
	}
	return Leaf{Host: host, Name: name, CertPEM: certPEM, KeyPEM: keyPEM, cert: cert}, nil
}
