package pki

import (
	"bytes"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"k8s.io/client-go/util/keyutil"
	sigsyaml "sigs.k8s.io/yaml"
)

// canaries are the forms in which a key could show.
func canaries(secrets ...Secret) []string {
	var out []string
	for _, s := range secrets {
		b := s.Reveal()
		if lines := strings.Split(string(b), "\n"); len(lines) > 2 {
			b = []byte(lines[1]) // the first line of the PEM's body
		}
		numbers := strings.Trim(fmt.Sprint(b[:16]), "[]")
		out = append(out, string(b), hex.EncodeToString(b[:16]), base64.StdEncoding.EncodeToString(b)[:20],
			numbers, strings.ReplaceAll(numbers, " ", ","))
	}
	return out
}

func TestNothingPrintsKeys(t *testing.T) {
	c, inv := testCluster(1, 0)
	s := mustNew(t, "")
	mustEnsure(t, s, Table(c, inv), noon)
	leaf, _ := s.Leaf("", Admin)
	ca := s.CA(ClusterCA)
	keys := canaries(leaf.KeyPEM, ca.KeyPEM, s.ServiceAccount().KeyPEM, s.Encryption().Key)

	type holder struct { // fmt cannot call methods on what is unexported
		leaf   Leaf
		s      *Secrets
		v      Secrets
		secret Secret
		Open   any
	}
	var out strings.Builder
	for _, v := range []any{
		s, *s, leaf, &leaf, ca, s.ServiceAccount(), s.Encryption(), leaf.KeyPEM, leaf.Bundle(), Secret{},
		holder{leaf, s, *s, leaf.KeyPEM, leaf}, map[string]any{"x": s}, []Leaf{leaf}, s.Fingerprints(), s.Expiries(),
		fmt.Errorf("wrapped: %w", fmt.Errorf("%v %s", s, leaf.KeyPEM)),
	} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%T"} {
			fmt.Fprintf(&out, verb+"\n", v)
		}
		fmt.Fprintln(&out, v)
		log := slog.New(slog.NewTextHandler(&out, nil))
		log.Info("text", "value", v)
		slog.New(slog.NewJSONHandler(&out, nil)).Info("json", "value", v)
		if data, err := json.Marshal(v); err == nil {
			out.Write(data)
		}
		if data, err := sigsyaml.Marshal(v); err == nil {
			out.Write(data)
		}
		if data, err := yaml.Marshal(v); err == nil {
			out.Write(data)
		}
	}
	for _, key := range keys {
		if i := strings.Index(out.String(), key); i >= 0 {
			t.Errorf("a key shows: ...%s", out.String()[max(0, i-200):i])
		}
	}
}

func TestSecretReveals(t *testing.T) {
	b := []byte("canary")
	s := NewSecret(b)
	b[0] = 'X'
	s.Reveal()[1] = 'X'
	if string(s.Reveal()) != "canary" {
		t.Errorf("got %q", s.Reveal())
	}
	if !s.Equal(NewSecret("canary")) || s.Equal(NewSecret("other")) || s.Equal(Secret{}) {
		t.Error("Equal")
	}
	if !(Secret{}).Empty() || s.Empty() || (Secret{}).Reveal() != nil {
		t.Error("Empty")
	}
}

func TestBundleIsCertificateThenKey(t *testing.T) {
	c, inv := testCluster(1, 0)
	s := mustNew(t, "")
	mustEnsure(t, s, Table(c, inv), noon)
	l, _ := s.Leaf("cp1", APIServer)
	b := l.Bundle().Reveal()
	cert, key := bytes.Index(b, []byte("BEGIN CERTIFICATE")), bytes.Index(b, []byte("BEGIN PRIVATE KEY"))
	if cert < 0 || key < cert {
		t.Errorf("certificate at %d, key at %d", cert, key)
	}
	if _, err := tls.X509KeyPair(b, b); err != nil { // the same path for both, as components are given it
		t.Error(err)
	}
}

func TestServiceAccountKeyIsReadByKubernetes(t *testing.T) {
	for _, alg := range []Algorithm{ECDSA, RSA} {
		sa := mustNew(t, alg).ServiceAccount()
		if _, err := keyutil.ParsePrivateKeyPEM(sa.KeyPEM.Reveal()); err != nil {
			t.Errorf("%s: %v", alg, err)
		}
		keys, err := keyutil.ParsePublicKeysPEM(sa.PublicPEM)
		if err != nil || len(keys) != 1 || algorithmOf(keys[0]) != alg {
			t.Errorf("%s: %v %v", alg, keys, err)
		}
	}
}
