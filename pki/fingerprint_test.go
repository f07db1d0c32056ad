package pki

import "testing"

func TestFingerprintsMatchWhatIsOnAHost(t *testing.T) {
	c, inv := testCluster(1, 1)
	s := mustNew(t, "")
	mustEnsure(t, s, Table(c, inv), noon)
	prints := map[string]string{}
	for _, f := range s.Fingerprints() {
		prints[f.Host+"/"+f.Name] = f.SHA256
	}
	leaf, _ := s.Leaf("w1", Kubelet)
	for name, pem := range map[string][]byte{
		"/ca":              s.CA(ClusterCA).CertPEM,
		"/service-account": s.ServiceAccount().PublicPEM,
		"w1/kubelet":       leaf.Bundle().Reveal(),
	} {
		got, err := FingerprintPEM(pem)
		if err != nil || got != prints[name] || len(got) != 64 {
			t.Errorf("%s: %q %v, want %q", name, got, err, prints[name])
		}
	}
	if _, err := FingerprintPEM(s.ServiceAccount().KeyPEM.Reveal()); err == nil {
		t.Error("a private key has a fingerprint")
	}
}

func TestNearestEnd(t *testing.T) {
	c, inv := testCluster(1, 1)
	s := mustNew(t, "")
	mustEnsure(t, s, Table(c, inv), noon.AddDate(0, 1, 0))
	short := []Request{{Host: "w1", Name: "short", CA: ClusterCA, Usage: Client, CommonName: "x"}}
	mustEnsure(t, s, short, noon)
	if name, end := s.NearestEnd("w1"); name != "short" || !end.Equal(noon.Add(LeafLife)) {
		t.Errorf("w1: %s %s", name, end)
	}
	if name, _ := s.NearestEnd(""); name != Admin {
		t.Errorf("shared: %s", name)
	}
	if name, end := s.NearestEnd("nobody"); name != "" || !end.IsZero() {
		t.Errorf("nobody: %s %s", name, end)
	}
}
