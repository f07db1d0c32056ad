package pki

import (
	"crypto"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"time"
)

// Options are the choices that hold for the cluster's life.
type Options struct {
	Cluster   string    // name of the cluster
	Algorithm Algorithm // of the authorities and the service-account key; empty: ecdsa
}

// Secrets is all key material of one cluster as one value. What New made never changes; leaves
// are issued by Ensure. It is printed as ***, and stored by Encode and Decode alone. It is safe
// for concurrent reading; Ensure and Prune must not run beside anything else.
type Secrets struct {
	uid            string
	etcdToken      string
	authorities    map[Authority]CA
	serviceAccount ServiceAccount
	encryption     EncryptionKey
	leaves         map[leafKey]Leaf
}

type leafKey struct{ host, name string }

// ServiceAccount is the key that signs service-account tokens. It is the same on all control
// planes, or tokens of one are refused by another.
type ServiceAccount struct {
	KeyPEM    Secret
	PublicPEM []byte

	public crypto.PublicKey
}

// EncryptionKey encrypts Secrets in etcd; it is the same on all control planes. Its name is part
// of every value that is written with it, so another key must have another name.
type EncryptionKey struct {
	Name string
	Key  Secret // 32 bytes: AES-256 for aescbc, and what secretbox takes
}

// New makes a cluster's secrets, without any leaf. It is called once in a cluster's life; the
// result must be stored before the first host sees a part of it.
func New(opts Options, now time.Time, rand io.Reader) (*Secrets, error) {
	alg := opts.Algorithm.orDefault()
	var b [16 + 8 + 4 + 32]byte
	if _, err := io.ReadFull(rand, b[:]); err != nil {
		return nil, fmt.Errorf("make secrets: read randomness: %w", err)
	}
	s := &Secrets{
		uid:         uuid(b[:16]),
		etcdToken:   opts.Cluster + "-" + hex.EncodeToString(b[16:24]),
		encryption:  EncryptionKey{Name: "key-" + hex.EncodeToString(b[24:28]), Key: NewSecret(b[28:])},
		authorities: make(map[Authority]CA, 3),
		leaves:      make(map[leafKey]Leaf),
	}
	for _, name := range Authorities() {
		ca, err := newCA(name, alg, now, rand)
		if err != nil {
			return nil, fmt.Errorf("make secrets: %w", err)
		}
		s.authorities[name] = ca
	}
	key, err := alg.generate(rand)
	if err != nil {
		return nil, fmt.Errorf("make service-account key: %w", err)
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return nil, err
	}
	if s.serviceAccount, err = readServiceAccount(keyPEM); err != nil {
		return nil, err
	}
	return s, nil
}

func readServiceAccount(keyPEM Secret) (ServiceAccount, error) {
	key, err := decodeKey(keyPEM)
	if err != nil {
		return ServiceAccount{}, fmt.Errorf("service-account key: %w", err)
	}
	public, err := encodePublic(key.Public())
	if err != nil {
		return ServiceAccount{}, err
	}
	return ServiceAccount{KeyPEM: keyPEM, PublicPEM: public, public: key.Public()}, nil
}

// uuid writes 16 random bytes as a version 4 UUID (RFC 9562 section 5.4).
func uuid(b []byte) string {
	u := [16]byte(b)
	u[6] = u[6]&0x0f | 0x40
	u[8] = u[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}

// ClusterUID tells this cluster from another of the same name.
func (s *Secrets) ClusterUID() string { return s.uid }

// EtcdToken is etcd's --initial-cluster-token: members of two clusters never mix up. Not a secret.
func (s *Secrets) EtcdToken() string { return s.etcdToken }

// CA gives an authority; its zero value when there is none of that name.
func (s *Secrets) CA(name Authority) CA { return s.authorities[name] }

// ServiceAccount gives the key that signs service-account tokens.
func (s *Secrets) ServiceAccount() ServiceAccount { return s.serviceAccount }

// Encryption gives the key for Secrets in etcd.
func (s *Secrets) Encryption() EncryptionKey { return s.encryption }

// Leaf finds an issued certificate; host is empty for those that all hosts share.
func (s *Secrets) Leaf(host, name string) (Leaf, bool) {
	l, ok := s.leaves[leafKey{host, name}]
	return l, ok
}

// Clone gives a value whose leaves change apart from those of s: a plan issues on a clone.
func (s *Secrets) Clone() *Secrets {
	c := *s
	c.leaves = maps.Clone(s.leaves)
	return &c
}

func (Secrets) String() string               { return hidden }
func (Secrets) GoString() string             { return hidden }
func (Secrets) Format(f fmt.State, _ rune)   { io.WriteString(f, hidden) }
func (Secrets) LogValue() slog.Value         { return slog.StringValue(hidden) }
func (Secrets) MarshalJSON() ([]byte, error) { return []byte(`"` + hidden + `"`), nil }
