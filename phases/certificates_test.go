package phases_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"clusterctl/phases"
	"clusterctl/phases/preflight"
	"clusterctl/phases/upgrade"
	"clusterctl/pki"
)

// TestCertificatesThatEndDuringAnUpgradeAreNamed with host, files and what renews them; those that live on are not.
func TestCertificatesThatEndDuringAnUpgradeAreNamed(t *testing.T) {
	secrets := newSecrets(t)
	c := clusterOf(t, sshSpec(newVersion, 1, 1, ""), secrets)
	if got, err := phases.Ending(c, secrets, nil, noon); err != nil || len(got) > 0 {
		t.Fatalf("at the beginning %v, %v", got, err)
	}
	got, err := phases.Ending(c, secrets, map[string]bool{"worker-1": true}, noon.Add(pki.LeafLife-upgrade.Soak+time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, f := range upgrade.Check(newVersion, upgrade.Seen{Ending: got}) {
		lines = append(lines, string(f.Severity)+" "+f.String())
	}
	for _, want := range []string{
		"warning cp-1: certificates: certificate apiserver (/etc/kubernetes/pki/apiserver.pem) ends 2027-12-01 12:00 UTC; this run renews it, in phase pki",
		"warning cp-1: certificates: certificate scheduler (/etc/kubernetes/scheduler.conf) ends 2027-12-01 12:00 UTC; this run renews it, in phase pki",
		"warning worker-1: certificates: certificate kubelet-serving (/etc/kubernetes/pki/kubelet-serving.pem) ends 2027-12-01 12:00 UTC, and this run leaves its host out; clusterctl up renews it",
		"warning certificates: certificate kube-proxy (/etc/kubernetes/kube-proxy.conf) ends 2027-12-01 12:00 UTC; this run renews it, in phase pki",
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("not said: %s; said is\n%s", want, strings.Join(lines, "\n"))
		}
	}
	if slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, "admin") || strings.Contains(l, "authority") }) {
		t.Errorf("named are certificates that are on no host, or that live on:\n%s", strings.Join(lines, "\n"))
	}
}

// TestAnAuthorityThatEndsDuringAnUpgradeStopsIt: nothing renews it.
func TestAnAuthorityThatEndsDuringAnUpgradeStopsIt(t *testing.T) {
	secrets := newSecrets(t)
	c := clusterOf(t, sshSpec(newVersion, 1, 0, ""), secrets)
	now := secrets.CA(pki.EtcdCA).NotAfter().Add(-time.Hour)
	got, err := phases.Ending(c, secrets, nil, now)
	if err != nil {
		t.Fatal(err)
	}
	findings := upgrade.Check(newVersion, upgrade.Seen{Ending: got})
	i := slices.IndexFunc(findings, func(f preflight.Finding) bool {
		return f.Severity == "error" && strings.Contains(f.Message, "/etc/kubernetes/pki/etcd/ca.crt")
	})
	if i < 0 || !strings.HasPrefix(findings[i].Message, "authority ") {
		t.Errorf("findings %v", findings)
	}
}
