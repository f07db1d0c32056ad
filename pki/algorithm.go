package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
)

// Algorithm is how keys are made.
type Algorithm string

const (
	ECDSA Algorithm = "ecdsa" // P-256; the default
	RSA   Algorithm = "rsa"   // 3072 bits: 128 bits of security, as P-256 has (NIST SP 800-57 part 1, table 2)
)

const rsaBits = 3072

// orDefault reads the empty algorithm as ECDSA.
func (a Algorithm) orDefault() Algorithm {
	if a == "" {
		return ECDSA
	}
	return a
}

// generate makes a private key. Go 1.26 takes its own secure source for keys whatever rand is;
// testing/cryptotest.SetGlobalRandom makes it repeatable in tests.
func (a Algorithm) generate(rand io.Reader) (crypto.Signer, error) {
	switch a {
	case ECDSA:
		return ecdsa.GenerateKey(elliptic.P256(), rand)
	case RSA:
		return rsa.GenerateKey(rand, rsaBits)
	}
	return nil, fmt.Errorf("key algorithm %q is not known: use %s or %s", a, ECDSA, RSA)
}

// algorithmOf tells how a public key was made; empty when it is neither.
func algorithmOf(pub crypto.PublicKey) Algorithm {
	switch pub.(type) {
	case *ecdsa.PublicKey:
		return ECDSA
	case *rsa.PublicKey:
		return RSA
	}
	return ""
}

// keyUsage: signatures for TLS 1.3 and ECDHE; key encipherment only makes sense with RSA
// (RFC 5280 section 4.2.1.3).
func (a Algorithm) keyUsage() x509.KeyUsage {
	if a == RSA {
		return x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment
	}
	return x509.KeyUsageDigitalSignature
}

// encodeKey writes a private key as PKCS#8 (RFC 5958), which all components read, service-account
// keys included.
func encodeKey(key crypto.Signer) (Secret, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return Secret{}, fmt.Errorf("encode private key: %w", err)
	}
	return NewSecret(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), nil
}

// decodeKey reads what encodeKey wrote. Its errors hold no part of the key.
func decodeKey(s Secret) (crypto.Signer, error) {
	block, _ := pem.Decode(s.Reveal())
	if block == nil || block.Type != "PRIVATE KEY" {
		return nil, errors.New("private key is not PEM of PKCS#8")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New("private key is damaged")
	}
	signer, ok := key.(crypto.Signer)
	if !ok || algorithmOf(signer.Public()) == "" {
		return nil, errors.New("private key is neither ECDSA nor RSA")
	}
	return signer, nil
}

func encodePublic(pub crypto.PublicKey) ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(pub)
	if err != nil {
		return nil, fmt.Errorf("encode public key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), nil
}

// samePublic says whether two public keys are equal.
func samePublic(a, b crypto.PublicKey) bool {
	k, ok := a.(interface{ Equal(crypto.PublicKey) bool })
	return ok && k.Equal(b)
}
