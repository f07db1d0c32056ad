package pki

import (
	"crypto"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"
)

// Authority names a certificate authority.
type Authority string

// The three authorities are separate on purpose: a certificate that one of them signed means
// nothing to a server that trusts another. The front-proxy CA must not be the client CA, or any
// client could speak for anybody ("Configure the aggregation layer", CA reusage and conflicts).
const (
	ClusterCA    Authority = "ca"             // clients and servers of the Kubernetes API and the kubelets
	EtcdCA       Authority = "etcd-ca"        // etcd's members and clients
	FrontProxyCA Authority = "front-proxy-ca" // the API server towards extension API servers
)

// Authorities gives all names in a fixed order.
func Authorities() []Authority { return []Authority{ClusterCA, EtcdCA, FrontProxyCA} }

// commonName is the subject, as kubeadm names it.
func (a Authority) commonName() string {
	if a == ClusterCA {
		return "kubernetes"
	}
	return string(a)
}

const (
	// Backdate is how far not-before lies in the past: a host whose clock is behind by less
	// accepts a certificate that was made just now.
	Backdate = time.Hour
	caYears  = 10
)

// CA is one certificate authority.
type CA struct {
	Name    Authority
	CertPEM []byte
	KeyPEM  Secret

	cert *x509.Certificate
	key  crypto.Signer
}

// NotAfter is when the authority, and with it every certificate below it, ends.
func (c CA) NotAfter() time.Time { return c.cert.NotAfter }

func (c CA) String() string               { return "certificate authority " + string(c.Name) }
func (c CA) GoString() string             { return c.String() }
func (c CA) Format(f fmt.State, _ rune)   { io.WriteString(f, c.String()) }
func (c CA) LogValue() slog.Value         { return slog.StringValue(c.String()) }
func (c CA) MarshalJSON() ([]byte, error) { return []byte(`"` + hidden + `"`), nil }

// newCA makes a self-signed authority that signs leaves only (path length 0, RFC 5280 section 4.2.1.9).
func newCA(name Authority, alg Algorithm, now time.Time, rand io.Reader) (CA, error) {
	key, err := alg.generate(rand)
	if err != nil {
		return CA{}, fmt.Errorf("make key of %s: %w", name, err)
	}
	serial, err := newSerial(rand)
	if err != nil {
		return CA{}, fmt.Errorf("number %s: %w", name, err)
	}
	id, err := keyID(key.Public())
	if err != nil {
		return CA{}, err
	}
	now = now.UTC().Truncate(time.Second)
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: name.commonName()},
		NotBefore:             now.Add(-Backdate),
		NotAfter:              now.AddDate(caYears, 0, 0),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
		SubjectKeyId:          id,
		AuthorityKeyId:        id,
	}
	der, err := x509.CreateCertificate(rand, template, template, key.Public(), key)
	if err != nil {
		return CA{}, fmt.Errorf("sign %s: %w", name, err)
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return CA{}, err
	}
	return readCA(name, encodeCert(der), keyPEM)
}

// readCA puts an authority together from its stored parts.
func readCA(name Authority, certPEM []byte, keyPEM Secret) (CA, error) {
	cert, err := decodeCert(certPEM)
	if err != nil {
		return CA{}, fmt.Errorf("%s: %w", name, err)
	}
	if !cert.IsCA {
		return CA{}, fmt.Errorf("%s: certificate is not that of an authority", name)
	}
	key, err := decodeKey(keyPEM)
	if err != nil {
		return CA{}, fmt.Errorf("%s: %w", name, err)
	}
	if !samePublic(cert.PublicKey, key.Public()) {
		return CA{}, fmt.Errorf("%s: %w", name, errForeignKey)
	}
	return CA{Name: name, CertPEM: certPEM, KeyPEM: keyPEM, cert: cert, key: key}, nil
}

var errForeignKey = errors.New("private key belongs to another certificate")
