package pki

import (
	"crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/cryptotest"
	"time"
)

func TestLeavesVerifyUnderTheirAuthorityOnly(t *testing.T) {
	for _, alg := range []Algorithm{ECDSA, RSA} {
		t.Run(string(alg), func(t *testing.T) {
			c, inv := testCluster(1, 1)
			c.Spec.PKI.Algorithm = string(alg)
			s, reqs := mustNew(t, alg), Table(c, inv)
			if alg == RSA { // slow: one of each usage will do
				reqs = slices.DeleteFunc(reqs, func(r Request) bool {
					return r.Host != "cp1" || !slices.Contains([]string{EtcdPeer, APIServer, FrontProxyClient}, r.Name)
				})
			}
			mustEnsure(t, s, reqs, noon)
			for _, r := range reqs {
				l, ok := s.Leaf(r.Host, r.Name)
				if !ok {
					t.Fatalf("no %s", r.title())
				}
				for _, a := range Authorities() {
					for _, use := range []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} {
						want := a == r.CA && slices.Contains(r.Usage.extKeyUsages(), use)
						if err := verify(l, s.CA(a), use, noon); (err == nil) != want {
							t.Errorf("%s under %s for %v: %v, want good %v", l, a, use, err, want)
						}
					}
				}
				checkProfile(t, l, s.CA(r.CA), alg)
			}
		})
	}
}

func verify(l Leaf, ca CA, use x509.ExtKeyUsage, at time.Time) error {
	roots := x509.NewCertPool()
	roots.AddCert(ca.cert)
	_, err := l.cert.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{use}})
	return err
}

func checkProfile(t *testing.T, l Leaf, ca CA, alg Algorithm) {
	t.Helper()
	c := l.cert
	if c.NotAfter.After(ca.cert.NotAfter) || !c.NotBefore.Equal(noon.Add(-time.Hour)) || !c.NotAfter.Equal(noon.Add(LeafLife)) {
		t.Errorf("%s is valid from %s to %s", l, c.NotBefore, c.NotAfter)
	}
	if c.IsCA || !c.BasicConstraintsValid || c.KeyUsage != alg.keyUsage() || algorithmOf(c.PublicKey) != alg {
		t.Errorf("%s: CA %v, usage %b, key %T", l, c.IsCA, c.KeyUsage, c.PublicKey)
	}
	if len(c.SubjectKeyId) != 20 || string(c.AuthorityKeyId) != string(ca.cert.SubjectKeyId) {
		t.Errorf("%s: key ids %x %x", l, c.SubjectKeyId, c.AuthorityKeyId)
	}
	if c.SerialNumber.Sign() <= 0 || c.SerialNumber.BitLen() != 128 {
		t.Errorf("%s: serial %s", l, l.Serial())
	}
}

func TestAuthorityProfile(t *testing.T) {
	s := mustNew(t, "")
	names := map[Authority]string{ClusterCA: "kubernetes", EtcdCA: "etcd-ca", FrontProxyCA: "front-proxy-ca"}
	for a, cn := range names {
		c := s.CA(a).cert
		if c.Subject.CommonName != cn || !c.IsCA || !c.MaxPathLenZero || c.KeyUsage != x509.KeyUsageCertSign|x509.KeyUsageCRLSign {
			t.Errorf("%s: %s CA %v path %v usage %b", a, c.Subject, c.IsCA, c.MaxPathLenZero, c.KeyUsage)
		}
		if !c.NotAfter.Equal(noon.AddDate(10, 0, 0)) {
			t.Errorf("%s ends %s", a, c.NotAfter)
		}
	}
}

func TestEnsureTwiceChangesNothing(t *testing.T) {
	c, inv := testCluster(3, 2)
	s, reqs := mustNew(t, ""), Table(c, inv)
	if got := mustEnsure(t, s, reqs, noon); len(got) != len(reqs) || got[0].Action != Issue || got[0].Reason != "missing" {
		t.Fatalf("first: %d changes for %d requests, %v", len(got), len(reqs), got[0])
	}
	before := mustEncode(t, s)
	slices.Reverse(reqs[0].DNSNames) // order of names is no difference
	if got := mustEnsure(t, s, reqs, noon.Add(200*24*time.Hour)); len(got) != 0 {
		t.Errorf("second: %v", got)
	}
	if mustEncode(t, s) != before {
		t.Error("bytes differ")
	}
}

func TestNewSANReissuesThatLeafOnly(t *testing.T) {
	c, inv := testCluster(3, 1)
	s := mustNew(t, "")
	mustEnsure(t, s, Table(c, inv), noon)
	old := s.Clone()

	c.Spec.ControlPlane.CertSANs = []string{"api2.example.test", "203.0.113.50"}
	got := mustEnsure(t, s, Table(c, inv), noon)
	if len(got) != 3 {
		t.Fatalf("changes: %v", got)
	}
	for i, change := range got {
		if want := fmt.Sprintf("re-issue apiserver certificate of cp%d: SAN +2", i+1); change.String() != want {
			t.Errorf("%q, want %q", change, want)
		}
		if want := []string{"+203.0.113.50", "+api2.example.test"}; !slices.Equal(change.Detail, want) {
			t.Errorf("detail %v, want %v", change.Detail, want)
		}
	}
	for _, key := range s.sortedKeys() {
		same := string(old.leaves[key].CertPEM) == string(s.leaves[key].CertPEM)
		if same == (key.name == APIServer) {
			t.Errorf("%s of %s: same bytes %v", key.name, key.host, same)
		}
	}

	c.Spec.ControlPlane.CertSANs = nil
	got, err := s.Due(Table(c, inv), noon)
	if err != nil || len(got) != 3 || got[0].Reason != "SAN -2" {
		t.Errorf("after removal: %v %v", got, err)
	}
}

func TestChangedRequestIsReissuedWithReason(t *testing.T) {
	base := Request{
		Host: "cp1", Name: "x", CA: ClusterCA, Usage: Server, CommonName: "x", Organization: []string{"o"},
		DNSNames: []string{"a"}, IPs: []netip.Addr{netip.MustParseAddr("192.0.2.12")},
	}
	for _, tt := range []struct {
		reason string
		change func(r *Request)
	}{
		{"common name", func(r *Request) { r.CommonName = "y" }},
		{"organization", func(r *Request) { r.Organization = nil }},
		{"usage", func(r *Request) { r.Usage = Both }},
		{"key rsa, was ecdsa", func(r *Request) { r.Algorithm = RSA }},
		{"not signed by the present etcd-ca", func(r *Request) { r.CA = EtcdCA }},
		{"SAN +1 -1", func(r *Request) { r.IPs = []netip.Addr{netip.MustParseAddr("192.0.2.77")} }},
		{"common name, SAN +1", func(r *Request) { r.CommonName = "z"; r.DNSNames = []string{"a", "b"} }},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			s := mustNew(t, "")
			mustEnsure(t, s, []Request{base}, noon)
			r := base
			tt.change(&r)
			if got := mustEnsure(t, s, []Request{r}, noon); len(got) != 1 || got[0].Reason != tt.reason {
				t.Errorf("got %v", got)
			}
			if got := mustEnsure(t, s, []Request{r}, noon); len(got) != 0 {
				t.Errorf("again: %v", got)
			}
		})
	}
}

func TestRenewalByTime(t *testing.T) {
	const day = 24 * time.Hour
	r := []Request{{Host: "w1", Name: "x", CA: ClusterCA, Usage: Client, CommonName: "x"}}
	for _, tt := range []struct {
		after  time.Duration
		reason string
	}{
		{0, ""},
		{243 * day, ""},
		{244 * day, "past 2/3 of its life"},
		{340 * day, "expires in 25 days"},
		{395 * day, "expired on 2027-12-01"},
	} {
		s := mustNew(t, "")
		mustEnsure(t, s, r, noon)
		got := mustEnsure(t, s, r, noon.Add(tt.after))
		switch {
		case tt.reason == "" && len(got) == 0:
		case len(got) == 1 && got[0].Reason == tt.reason && got[0].Action == Reissue:
		default:
			t.Errorf("after %s: %v, want %q", tt.after, got, tt.reason)
		}
	}
}

func TestLeafNeverOutlivesItsAuthority(t *testing.T) {
	r := []Request{{Host: "w1", Name: "x", CA: ClusterCA, Usage: Client, CommonName: "x"}}
	s := mustNew(t, "")
	end := s.CA(ClusterCA).NotAfter()
	mustEnsure(t, s, r, end.Add(-10*24*time.Hour))
	l, _ := s.Leaf("w1", "x")
	if !l.NotAfter().Equal(end) {
		t.Errorf("leaf ends %s, its authority %s", l.NotAfter(), end)
	}
	if got := mustEnsure(t, s, r, end.Add(-24*time.Hour)); len(got) != 0 {
		t.Errorf("renewed although it would not live longer: %v", got)
	}
	if _, err := s.Ensure(r, end, rand.Reader); err == nil || !strings.Contains(err.Error(), "certificate authority ca ended on 2036-12-01") {
		t.Errorf("after the authority's end: %v", err)
	}
}

func TestBadRequestsAreRefusedTogetherAndNothingChanges(t *testing.T) {
	good := Request{Host: "w1", Name: "x", CA: ClusterCA, Usage: Client, CommonName: "x"}
	s := mustNew(t, "")
	before := mustEncode(t, s)
	_, err := s.Ensure([]Request{
		good, good,
		{Host: "w1", Name: "y", CA: "other", Usage: Client, CommonName: "x"},
		{Host: "w1", Name: "z", CA: ClusterCA, Usage: "any", CommonName: "x"},
	}, noon, rand.Reader)
	for _, want := range []string{"x certificate of w1 is asked for twice", `no certificate authority "other"`, `usage "any"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	unsignable := good
	unsignable.Name, unsignable.DNSNames = "bad", []string{"näme.example.test"}
	if _, err := s.Ensure([]Request{good, unsignable}, noon, rand.Reader); err == nil {
		t.Error("a name that is not ASCII was signed")
	}
	if mustEncode(t, s) != before {
		t.Error("secrets changed")
	}
}

func TestRandomnessFailureIsAnError(t *testing.T) {
	broken := errors.New("broken")
	source := io.MultiReader(strings.NewReader("0123456789"), errReader{broken})
	if _, err := New(Options{Cluster: "dev"}, noon, source); !errors.Is(err, broken) {
		t.Errorf("New: %v", err)
	}
	s := mustNew(t, "")
	r := []Request{{Name: "x", CA: ClusterCA, Usage: Client, CommonName: "x"}}
	if _, err := s.Ensure(r, noon, errReader{broken}); !errors.Is(err, broken) {
		t.Errorf("Ensure: %v", err)
	}
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

func TestPruneDropsWhatNobodyAsksForAndSaysSo(t *testing.T) {
	c, inv := testCluster(1, 2)
	s := mustNew(t, "")
	mustEnsure(t, s, Table(c, inv), noon)
	c, inv = testCluster(1, 1)
	reqs := Table(c, inv)
	if got := mustEnsure(t, s, reqs, noon); len(got) != 0 {
		t.Errorf("Ensure dropped: %v", got)
	}
	got := s.Prune(reqs)
	if len(got) != 2 || got[0].String() != "drop kubelet certificate of w2: no longer asked for" {
		t.Errorf("Prune: %v", got)
	}
	if _, ok := s.Leaf("w2", Kubelet); ok {
		t.Error("w2's kubelet certificate is still there")
	}
}

func TestSignIsNotKept(t *testing.T) {
	s := mustNew(t, "")
	r := Request{Name: "jane", CA: ClusterCA, Usage: Client, CommonName: "jane", Organization: []string{"dev"}}
	l, err := s.Sign(r, 8*time.Hour, noon, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if !l.NotAfter().Equal(noon.Add(8*time.Hour)) || l.User() != "jane" {
		t.Errorf("%s ends %s", l.User(), l.NotAfter())
	}
	if _, ok := s.Leaf("", "jane"); ok {
		t.Error("kept")
	}
	if _, err := s.Sign(r, 0, noon, rand.Reader); err == nil {
		t.Error("a lifetime of zero was accepted")
	}
}

func TestSameRandomnessGivesSameBytes(t *testing.T) {
	// Go takes keys and signatures from its own source, which only this can replace; several
	// goroutines would take turns in any order.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	c, inv := testCluster(1, 1)
	var got [2]string
	for i := range got {
		t.Run("", func(t *testing.T) {
			cryptotest.SetGlobalRandom(t, 7)
			s := mustNew(t, "")
			mustEnsure(t, s, Table(c, inv), noon)
			got[i] = mustEncode(t, s)
		})
	}
	if got[0] != got[1] {
		t.Error("two runs differ")
	}
}

// A thousand workers: table and certificates, on one processor with -cpu 1.
func BenchmarkEnsureThousandWorkers(b *testing.B) {
	c, inv := testCluster(3, 1000)
	for b.Loop() {
		b.StopTimer()
		s := mustNew(b, "")
		b.StartTimer()
		mustEnsure(b, s, Table(c, inv), noon)
	}
}

func BenchmarkEnsureNothingToDo(b *testing.B) {
	c, inv := testCluster(3, 1000)
	s := mustNew(b, "")
	mustEnsure(b, s, Table(c, inv), noon)
	for b.Loop() {
		mustEnsure(b, s, Table(c, inv), noon)
	}
}

func BenchmarkEncodeDecode(b *testing.B) {
	c, inv := testCluster(3, 1000)
	s := mustNew(b, "")
	mustEnsure(b, s, Table(c, inv), noon)
	for b.Loop() {
		if _, err := Decode([]byte(mustEncode(b, s))); err != nil {
			b.Fatal(err)
		}
	}
}
