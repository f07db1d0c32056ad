package pki

import (
	"encoding/json"
	"errors"
	"fmt"
)

// format is the version of the stored form.
const format = 1

const encryptionKeySize = 32

// The stored form. It is the only place where secrets are plain text in a struct, and none of
// these types leaves this file.
type (
	storedSecrets struct {
		Format         int              `json:"format"`
		ClusterUID     string           `json:"clusterUID"`
		EtcdToken      string           `json:"etcdToken"`
		Authorities    []storedPair     `json:"authorities"`
		ServiceAccount string           `json:"serviceAccountKey"`
		Encryption     storedEncryption `json:"encryptionKey"`
		Leaves         []storedPair     `json:"leaves"`
	}
	storedPair struct {
		Host string `json:"host,omitempty"`
		Name string `json:"name"`
		Cert string `json:"cert"`
		Key  string `json:"key"`
	}
	storedEncryption struct {
		Name string `json:"name"`
		Key  []byte `json:"key"`
	}
)

// Encode gives the stored form, with all secrets in plain text: for a file that only its owner
// may read. Equal secrets give equal bytes.
func (s *Secrets) Encode() ([]byte, error) {
	out := storedSecrets{
		Format:         format,
		ClusterUID:     s.uid,
		EtcdToken:      s.etcdToken,
		ServiceAccount: string(s.serviceAccount.KeyPEM.Reveal()),
		Encryption:     storedEncryption{s.encryption.Name, s.encryption.Key.Reveal()},
		Leaves:         make([]storedPair, 0, len(s.leaves)),
	}
	for _, name := range Authorities() {
		ca := s.authorities[name]
		out.Authorities = append(out.Authorities, storedPair{Name: string(name), Cert: string(ca.CertPEM), Key: string(ca.KeyPEM.Reveal())})
	}
	for _, key := range s.sortedKeys() {
		l := s.leaves[key]
		out.Leaves = append(out.Leaves, storedPair{l.Host, l.Name, string(l.CertPEM), string(l.KeyPEM.Reveal())})
	}
	data, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode secrets: %w", err)
	}
	return append(data, '\n'), nil
}

// Decode reads what Encode wrote and refuses anything that is damaged or incomplete. Its errors
// hold no part of the data.
func Decode(data []byte) (*Secrets, error) {
	var in storedSecrets
	if err := json.Unmarshal(data, &in); err != nil {
		return nil, fmt.Errorf("decode secrets: %w", withoutValue(err))
	}
	if in.Format != format {
		return nil, fmt.Errorf("decode secrets: format %d, this program reads format %d: use the version of the program that wrote it", in.Format, format)
	}
	s, err := in.secrets()
	if err != nil {
		return nil, fmt.Errorf("decode secrets: %w", err)
	}
	return s, nil
}

// withoutValue takes the offending value out of a JSON error: it may be a part of a key.
func withoutValue(err error) error {
	var wrongType *json.UnmarshalTypeError
	if errors.As(err, &wrongType) {
		return fmt.Errorf("field %s has the wrong type", wrongType.Field)
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("not JSON from byte %d on", syntax.Offset)
	}
	return errors.New("not the JSON of secrets")
}

func (in storedSecrets) secrets() (*Secrets, error) {
	if in.ClusterUID == "" || in.EtcdToken == "" {
		return nil, errors.New("cluster identity is missing")
	}
	if in.Encryption.Name == "" || len(in.Encryption.Key) != encryptionKeySize {
		return nil, errors.New("encryption key is missing or damaged")
	}
	s := &Secrets{
		uid:        in.ClusterUID,
		etcdToken:  in.EtcdToken,
		encryption: EncryptionKey{Name: in.Encryption.Name, Key: NewSecret(in.Encryption.Key)},
	}
	var err error
	if s.serviceAccount, err = readServiceAccount(NewSecret(in.ServiceAccount)); err != nil {
		return nil, err
	}
	if s.authorities, err = readAuthorities(in.Authorities); err != nil {
		return nil, err
	}
	s.leaves, err = readLeaves(in.Leaves)
	return s, err
}

func readAuthorities(pairs []storedPair) (map[Authority]CA, error) {
	out := make(map[Authority]CA, len(pairs))
	for _, p := range pairs {
		ca, err := readCA(Authority(p.Name), []byte(p.Cert), NewSecret(p.Key))
		if err != nil {
			return nil, err
		}
		out[ca.Name] = ca
	}
	for _, name := range Authorities() {
		if _, ok := out[name]; !ok {
			return nil, fmt.Errorf("certificate authority %s is missing", name)
		}
	}
	return out, nil
}

func readLeaves(pairs []storedPair) (map[leafKey]Leaf, error) {
	leaves := make([]Leaf, len(pairs))
	err := each(len(pairs), func(i int) (err error) {
		p := pairs[i]
		leaves[i], err = readLeaf(p.Host, p.Name, []byte(p.Cert), NewSecret(p.Key))
		return err
	})
	if err != nil {
		return nil, err
	}
	out := make(map[leafKey]Leaf, len(pairs))
	for _, l := range leaves {
		out[leafKey{l.Host, l.Name}] = l
	}
	return out, nil
}
