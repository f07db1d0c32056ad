//go:build e2e

package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"clusterctl/components"
	"clusterctl/pki"
)

func upMakesACluster(t *testing.T, c *cluster) {
	c.cli(t, "plan", c.spec, "--detailed-exitcode").exits(t, 2)
	c.cli(t, "up", c.spec, "--yes").exits(t, 0).says(t, "export KUBECONFIG=")

	nodes, err := c.client(t).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, n := range nodes.Items {
		names = append(names, n.Name)
		if err := nodeReady(n); err != nil {
			t.Errorf("%s: %v", n.Name, err)
		}
	}
	if !slices.Equal(names, all) {
		t.Errorf("nodes are %v, want %v", names, all)
	}
	for _, name := range planes {
		for _, path := range []string{"/readyz?verbose", "/livez?verbose"} {
			code, body, err := c.anonymous(t.Context(), name, path)
			if err != nil || code != http.StatusOK || strings.Contains(body, "[-]") {
				t.Errorf("%s%s: %d %v\n%s", name, path, code, err, body)
			}
		}
	}
	if got := c.cli(t, "ssh", c.spec, workers[0], "--", "hostname").exits(t, 0).stdout; strings.TrimSpace(got) != workers[0] {
		t.Errorf("ssh to %s ran on %s", workers[0], got)
	}
}

// anonymous asks the API server on a host without credentials.
func (c *cluster) anonymous(ctx context.Context, name, path string) (code int, body string, err error) {
	h, ok := c.hostOf(name)
	if !ok {
		return 0, "", fmt.Errorf("no host %s", name)
	}
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: c.authority()}, DisableKeepAlives: true}
	defer tr.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, components.URL("https", h, components.APIServerPort)+path, nil)
	if err != nil {
		return 0, "", err
	}
	res, err := tr.RoundTrip(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return res.StatusCode, string(text), err
}

func upAgainChangesNothing(t *testing.T, c *cluster) {
	before := c.processes(t, all)
	c.cli(t, "up", c.spec, "--yes").exits(t, 0)
	c.cli(t, "plan", c.spec, "--detailed-exitcode").exits(t, 0).says(t, "No changes")
	p := decode[planAnswer](t, c.cli(t, "plan", c.spec, "-o", "json").exits(t, 0))
	if p.Cluster != c.name || p.Summary.Total != 0 || p.Phases == nil || p.Provider == nil || p.Notes == nil {
		t.Errorf("plan of a cluster that is as it should be: %+v", p)
	}
	done := decode[struct {
		Cluster, KubernetesVersion, Kubeconfig string
		Hosts                                  int
	}](t, c.cli(t, "up", c.spec, "--yes", "-o", "json").exits(t, 0))
	if done.Cluster != c.name || done.KubernetesVersion != kubernetesVersion || done.Hosts != len(all) {
		t.Errorf("up answers %+v", done)
	}
	if changed := changedProcesses(t, before, c.processes(t, all)); len(changed) > 0 {
		t.Errorf("restarted without a reason: %v", changed)
	}
}

func statusShowsHealth(t *testing.T, c *cluster) {
	c.cli(t, "status", c.spec).exits(t, 0).says(t, "No problems.", "leader", kubernetesVersion, all[0], all[4])
	s := decode[statusAnswer](t, c.cli(t, "status", c.spec, "-o", "json").exits(t, 0))
	if !s.healthy() || len(s.Hosts) != len(all) || len(s.Etcd) != len(planes) || len(s.API) != len(planes) {
		t.Errorf("status: %+v", s)
	}
	for _, m := range s.Etcd {
		if m.RaftIndex == 0 || m.DBSize == 0 || m.Version == "" {
			t.Errorf("etcd member %s: %+v", m.Name, m)
		}
	}
}

// sameNameIsRefused is the second operator who has a spec of the same name in another directory.
func sameNameIsRefused(t *testing.T, c *cluster) {
	other := &cluster{name: c.name, spec: filepath.Join(shared.work, "other", "cluster.yaml")}
	other.write(t, haSpec(t))
	for _, verb := range []string{"up", "down"} {
		other.cli(t, verb, other.spec, "--yes").exits(t, 1).says(t, "belongs to the state directory", c.stateDir())
	}
	c.cli(t, "status", c.spec).exits(t, 0)
}

// hostOf gives the address of a host.
func (c *cluster) hostOf(name string) (string, bool) {
	inv, _, err := c.state().Inventory()
	if err != nil {
		return "", false
	}
	h, ok := inv.Get(name)
	return h.Address.String(), ok
}

// authority is the cluster's certificate authority, as clients trust it.
func (c *cluster) authority() *x509.CertPool {
	pool := x509.NewCertPool()
	if s, _, err := c.state().Secrets(); err == nil {
		pool.AppendCertsFromPEM(s.CA(pki.ClusterCA).CertPEM)
	}
	return pool
}

// serving gives the certificates that a port of a host shows, checked against the cluster's
// authority and the host's names.
func (c *cluster) serving(ctx context.Context, name string, port int) error {
	address, ok := c.hostOf(name)
	if !ok {
		return fmt.Errorf("no host %s", name)
	}
	for _, as := range []string{address, name} {
		d := tls.Dialer{Config: &tls.Config{RootCAs: c.authority(), ServerName: as}}
		conn, err := d.DialContext(ctx, "tcp", components.HostPort(address, port))
		if err != nil {
			return fmt.Errorf("%s as %s: %w", components.HostPort(address, port), as, err)
		}
		conn.Close()
	}
	return nil
}
