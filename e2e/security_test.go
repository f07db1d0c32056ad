//go:build e2e

package e2e

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"clusterctl/components"
	"clusterctl/pki"
)

func strangersAreKeptOut(t *testing.T, c *cluster) {
	c.cli(t, "kubectl", c.spec, "--", "apply", "--filename", manifest(t, "privileged.yaml")).exits(t, 1).says(t, "violates PodSecurity", "baseline")
	for path, want := range map[string]int{
		"/readyz": http.StatusOK, "/livez": http.StatusOK, "/healthz": http.StatusOK,
		"/api": http.StatusUnauthorized, "/version": http.StatusUnauthorized, "/metrics": http.StatusUnauthorized,
		"/api/v1/namespaces/kube-system/secrets": http.StatusUnauthorized,
	} {
		if code, _, err := c.anonymous(t.Context(), planes[0], path); err != nil || code != want {
			t.Errorf("%s without credentials: %d %v, want %d", path, code, err, want)
		}
	}
	for _, name := range all {
		if got := c.sh(t, name, "curl --silent --insecure --max-time 5 --output /dev/null --write-out '%{http_code}' https://127.0.0.1:10250/pods"); got != "401" {
			t.Errorf("kubelet on %s answers a stranger with %s", name, got)
		}
	}
	if out, err := c.try(t.Context(), planes[0], "curl --silent --insecure --max-time 5 https://127.0.0.1:2379/version"); err == nil {
		t.Errorf("etcd answers a client without a certificate: %s", out)
	}
	viewer := filepath.Join(filepath.Dir(c.spec), "viewer.kubeconfig")
	text := c.cli(t, "kubeconfig", c.spec, "--user", "jo", "--group", "viewers", "--ttl", "10m").exits(t, 0).stdout
	if err := os.WriteFile(viewer, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c.cli(t, "kubectl", c.spec, "--", "--kubeconfig", viewer, "get", "pods").exits(t, 1).says(t, `User "jo" cannot list`)
}

func secretsAreEncrypted(t *testing.T, c *cluster) {
	const text = "the-canary-of-the-tests"
	c.kubectl(t, "create", "secret", "generic", "canary", "--from-literal=text="+text)
	raw := c.cli(t, "ssh", c.spec, planes[1], "--", "etcdctl", "--endpoints=https://127.0.0.1:2379", "--cacert="+components.EtcdCAPath,
		"--cert=/etc/kubernetes/pki/apiserver-etcd-client.pem", "--key=/etc/kubernetes/pki/apiserver-etcd-client.pem",
		"get", "--print-value-only", "/registry/secrets/default/canary").exits(t, 0).stdout
	if !strings.HasPrefix(raw, "k8s:enc:secretbox:v1:") || strings.Contains(raw, text) {
		t.Errorf("etcd holds %.60q", raw)
	}
	if got := c.kubectl(t, "get", "secret", "canary", "--output", "jsonpath={.data.text}"); got != base64.StdEncoding.EncodeToString([]byte(text)) {
		t.Errorf("the API gives %q", got)
	}
}

func kubeletCertificates(t *testing.T, c *cluster) {
	for _, name := range all {
		if err := c.serving(t.Context(), name, components.KubeletPort); err != nil {
			t.Error(err)
		}
		if got := c.sh(t, name, "cat /etc/kubernetes/kubelet-config.yaml"); !strings.Contains(got, "rotateCertificates: true") {
			t.Errorf("%s: the kubelet does not renew its client certificate:\n%s", name, got)
		}
	}
}

// keysStayHome: private keys are root's alone; authorities' keys are on no host, but for the one
// that the controller manager signs with.
func keysStayHome(t *testing.T, c *cluster) {
	s := c.secrets(t)
	for _, name := range all {
		modes := c.sh(t, name, `grep -rlsIE -e '-----BEGIN [A-Z ]*PRIVATE KEY-----' -e 'client-key-data' /etc /root /home /srv /tmp /var /opt | xargs stat -c '%a:%U:%G:%n'`)
		if len(strings.Fields(modes)) < 4 {
			t.Errorf("%s: found only these keys: %s", name, modes)
		}
		for f := range strings.Lines(modes) {
			if !strings.HasPrefix(f, "600:root:root:") {
				t.Errorf("%s: a private key may be read: %s", name, f)
			}
		}
		if got := c.sh(t, name, "stat -c %a "+components.PKIDir); got != "700" {
			t.Errorf("%s: %s has mode %s", name, components.PKIDir, got)
		}
		plane := slices.Contains(planes, name)
		for what, key := range map[string]struct {
			text    pki.Secret
			allowed bool
		}{
			"etcd's authority":           {s.CA(pki.EtcdCA).KeyPEM, false},
			"the front proxy authority":  {s.CA(pki.FrontProxyCA).KeyPEM, false},
			"the cluster's authority":    {s.CA(pki.ClusterCA).KeyPEM, plane},
			"the service-account key":    {s.ServiceAccount().KeyPEM, plane},
			"the super-administrator":    {leafKey(t, s, "", pki.SuperAdmin), false},
			"the administrator":          {leafKey(t, s, "", pki.Admin), false},
			"another host's kubelet":     {leafKey(t, s, otherThan(name), pki.Kubelet), false},
			"another host's serving key": {leafKey(t, s, otherThan(name), pki.KubeletServing), false},
		} {
			found := c.feed(t, name, "grep -rlsIF -f - /etc /root /home /srv /tmp /var/lib /opt || true", strings.Join(traitsOf(key.text), "\n"))
			if (found != "") != key.allowed {
				t.Errorf("%s: the key of %s is in %q, may be there: %v", name, what, found, key.allowed)
			}
		}
	}
	err := filepath.WalkDir(c.stateDir(), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 && filepath.Ext(path) != ".pub" {
			t.Errorf("state: %s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func otherThan(name string) string {
	i := slices.Index(all, name)
	return all[(i+1)%len(all)]
}

func leafKey(t *testing.T, s *pki.Secrets, owner, name string) pki.Secret {
	t.Helper()
	leaf, ok := s.Leaf(owner, name)
	if !ok {
		t.Fatalf("no certificate %s of %q", name, owner)
	}
	return leaf.KeyPEM
}

// traitsOf gives pieces of a private key by which a text that holds it is known: a line of the
// PEM, and the same in base64, as kubeconfigs have it.
func traitsOf(key pki.Secret) []string {
	text := string(key.Reveal())
	lines := strings.Split(text, "\n")
	return []string{lines[2], base64.StdEncoding.EncodeToString([]byte(text))[96:160]}
}

// canaries are traits of every secret of a cluster with these hosts.
func canaries(t *testing.T, c *cluster, hosts []string) []string {
	t.Helper()
	s := c.secrets(t)
	out := []string{base64.StdEncoding.EncodeToString(s.Encryption().Key.Reveal())}
	for _, key := range []pki.Secret{s.CA(pki.ClusterCA).KeyPEM, s.CA(pki.EtcdCA).KeyPEM, s.CA(pki.FrontProxyCA).KeyPEM, s.ServiceAccount().KeyPEM} {
		out = append(out, traitsOf(key)...)
	}
	for _, name := range []string{pki.Admin, pki.SuperAdmin, pki.KubeProxy, pki.Flannel} {
		out = append(out, traitsOf(leafKey(t, s, "", name))...)
	}
	for _, h := range hosts {
		out = append(out, traitsOf(leafKey(t, s, h, pki.Kubelet))...)
	}
	return out
}

// holdsNone holds that no secret is in a file.
func holdsNone(t *testing.T, file string, canaries []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i, canary := range canaries {
		if bytes.Contains(text, []byte(canary)) {
			t.Errorf("%s holds secret number %d", file, i)
		}
	}
}

// nothingLeaks looks for every secret of the cluster in what commands printed, in the journals of
// the hosts and in the arguments of their processes.
func nothingLeaks(t *testing.T, c *cluster) {
	canaries := canaries(t, c, all)
	for _, file := range []string{commandLog(), filepath.Join(c.stateDir(), "journal.jsonl")} {
		holdsNone(t, file, canaries)
	}
	// The patterns go through a file in memory: on a command line they would find themselves.
	const script = `umask 077; cat >/run/canaries; { journalctl --boot --no-pager; cat /proc/[0-9]*/cmdline | tr '\0' '\n'; } 2>/dev/null | grep -cF -f /run/canaries; rm /run/canaries`
	for _, name := range all {
		if got := c.feed(t, name, script, strings.Join(canaries, "\n")+"\n"); got != "0" {
			t.Errorf("%s: secrets in %s lines of the journal or of processes' arguments", name, got)
		}
	}
	t.Log(fmt.Sprintf("looked for %d traits of secrets", len(canaries)))
}
