package pki

import (
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
)

// Fingerprint names a public key without showing anything of the private one.
type Fingerprint struct {
	Host   string `json:"host,omitempty"`
	Name   string `json:"name"`
	SHA256 string `json:"sha256"` // of the SubjectPublicKeyInfo (RFC 5280 section 4.1.2.7), lower-case hex
}

// ServiceAccountName is the service-account key's name among the fingerprints.
const ServiceAccountName = "service-account"

// Fingerprints gives authorities, the service-account key and all leaves, always in the same order.
func (s *Secrets) Fingerprints() []Fingerprint {
	out := make([]Fingerprint, 0, len(s.leaves)+4)
	for _, name := range Authorities() {
		out = append(out, Fingerprint{Name: string(name), SHA256: spki(s.authorities[name].cert.PublicKey)})
	}
	out = append(out, Fingerprint{Name: ServiceAccountName, SHA256: spki(s.serviceAccount.public)})
	for _, key := range s.sortedKeys() {
		out = append(out, Fingerprint{Host: key.host, Name: key.name, SHA256: spki(s.leaves[key].cert.PublicKey)})
	}
	return out
}

// FingerprintPEM gives the fingerprint of the first certificate or public key in a PEM file, to
// compare what is on a host.
func FingerprintPEM(data []byte) (string, error) {
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		switch block.Type {
		case "CERTIFICATE":
			cert, err := x509.ParseCertificate(block.Bytes)
			if err != nil {
				return "", fmt.Errorf("read certificate: %w", err)
			}
			return spki(cert.PublicKey), nil
		case "PUBLIC KEY":
			key, err := x509.ParsePKIXPublicKey(block.Bytes)
			if err != nil {
				return "", fmt.Errorf("read public key: %w", err)
			}
			return spki(key), nil
		}
	}
	return "", errors.New("no certificate and no public key in the PEM")
}

// spki is empty for a key that cannot be encoded, which x509 would not have read.
func spki(pub crypto.PublicKey) string {
	der, err := x509.MarshalPKIXPublicKey(pub)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}
