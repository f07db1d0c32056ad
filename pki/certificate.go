package pki

import (
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
)

func encodeCert(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// decodeCert reads the first certificate of a PEM file.
func decodeCert(data []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(data)
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, errors.New("certificate is not PEM")
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("certificate is damaged: %w", err)
	}
	return cert, nil
}

// newSerial gives a random positive number of 128 bits: unique without a register of numbers,
// and within the 20 octets of RFC 5280 section 4.1.2.2.
func newSerial(rand io.Reader) (*big.Int, error) {
	var b [16]byte
	if _, err := io.ReadFull(rand, b[:]); err != nil {
		return nil, fmt.Errorf("read randomness: %w", err)
	}
	b[0] |= 0x80 // all 128 bits are there, so never zero
	return new(big.Int).SetBytes(b[:]), nil
}

// keyID is the subject key identifier: the first 160 bits of the SHA-256 of the public key's bits
// (RFC 5280 section 4.2.1.2 leaves the method open; this is RFC 7093 section 2, method 1).
func keyID(pub crypto.PublicKey) ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(pub)
	if err != nil {
		return nil, fmt.Errorf("encode public key: %w", err)
	}
	var info struct {
		Algorithm pkix.AlgorithmIdentifier
		Bits      asn1.BitString
	}
	if _, err := asn1.Unmarshal(der, &info); err != nil {
		return nil, fmt.Errorf("read public key: %w", err)
	}
	sum := sha256.Sum256(info.Bits.Bytes)
	return sum[:20], nil
}
