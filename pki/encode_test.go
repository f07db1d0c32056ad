package pki

import (
	"strings"
	"testing"
)

func TestEncodeDecodeRoundTrip(t *testing.T) {
	for _, alg := range []Algorithm{ECDSA, RSA} {
		c, inv := testCluster(1, 1)
		c.Spec.PKI.Algorithm = string(alg)
		s, reqs := mustNew(t, alg), Table(c, inv)
		if alg == RSA { // slow
			reqs = reqs[:1]
		}
		mustEnsure(t, s, reqs, noon)
		first := mustEncode(t, s)
		back, err := Decode([]byte(first))
		if err != nil {
			t.Fatal(err)
		}
		if mustEncode(t, back) != first {
			t.Errorf("%s: bytes differ after a round trip", alg)
		}
		if back.ClusterUID() != s.ClusterUID() || back.EtcdToken() != s.EtcdToken() || !back.Encryption().Key.Equal(s.Encryption().Key) {
			t.Errorf("%s: values differ after a round trip", alg)
		}
		if got := mustEnsure(t, back, reqs, noon); len(got) != 0 {
			t.Errorf("%s: Ensure after a round trip: %v", alg, got)
		}
	}
}

func TestDecodeRefusesDamageWithoutShowingIt(t *testing.T) {
	c, inv := testCluster(1, 0)
	s := mustNew(t, "")
	mustEnsure(t, s, Table(c, inv), noon)
	good := mustEncode(t, s)
	caKey := strings.ReplaceAll(string(s.CA(ClusterCA).KeyPEM.Reveal()), "\n", `\n`)
	etcdKey := strings.ReplaceAll(string(s.CA(EtcdCA).KeyPEM.Reveal()), "\n", `\n`)
	body := caKey[60:100]

	for name, bad := range map[string]string{
		"empty":         "",
		"cut":           good[:len(good)/2],
		"null":          "null",
		"newer":         strings.Replace(good, `"format": 1`, `"format": 2`, 1),
		"foreign key":   strings.Replace(good, caKey, etcdKey, 1),
		"bits":          strings.Replace(good, body, strings.Repeat("A", len(body)), 1),
		"no CA":         strings.Replace(good, `"name": "etcd-ca"`, `"name": "other"`, 1),
		"type":          strings.Replace(good, `"key": "`+caKey+`"`, `"key": 12345678901234567890`, 1),
		"no encryption": strings.Replace(good, `"encryptionKey"`, `"x"`, 1),
		"more":          good + "{}",
	} {
		if bad == good {
			t.Fatalf("%s: nothing was damaged", name)
		}
		_, err := Decode([]byte(bad))
		if err == nil {
			t.Errorf("%s: accepted", name)
			continue
		}
		if strings.Contains(err.Error(), body) || strings.Contains(err.Error(), "1234567890") {
			t.Errorf("%s: the error shows a value: %v", name, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"format":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := Decode(data); (s == nil) == (err == nil) {
			t.Errorf("secrets %v with error %v", s != nil, err)
		}
	})
}
