package pki

import (
	"flag"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"clusterctl/provision/inventory"
	"clusterctl/provision/spec"
)

var update = flag.Bool("update", false, "write golden files")

func TestTableMatchesGolden(t *testing.T) {
	one, oneHost := testCluster(1, 0)
	three, threeHosts := testCluster(3, 2)
	three.Spec.ControlPlane.Endpoint = "api.example.test:6443"
	three.Spec.ControlPlane.CertSANs = []string{"API2.example.test", "203.0.113.50", "api.example.test", "127.0.0.1"}
	threeHosts.Hosts[1].SSH.Address = "cp2.ssh.example.test"
	three.Spec.PKI.Algorithm = "rsa"
	v6, v6Hosts := testCluster(1, 1)
	v6.Spec.Network.ServiceCIDR = "fd00:96::/112"
	v6.Spec.Network.CNI, v6.Spec.Network.KubeProxy = "none", "none"
	v6.Spec.ControlPlane.Endpoint = "[2001:db8::100]:443"
	v6.Spec.ControlPlane.CertSANs = []string{"2001:DB8:0::100", "::1", "0:0:0:0:0:0:0:2"}
	v6Hosts.Hosts[0].Address = netip.MustParseAddr("2001:db8::11")
	v6Hosts.Hosts[0].SSH.Address = "2001:db8::11"
	v6Hosts.Hosts[1].Address = netip.MustParseAddr("2001:db8::21")

	for _, tt := range []struct {
		name string
		s    *spec.Cluster
		inv  inventory.Inventory
	}{{"one", one, oneHost}, {"three", three, threeHosts}, {"ipv6", v6, v6Hosts}} {
		t.Run(tt.name, func(t *testing.T) {
			got := describe(Table(tt.s, tt.inv))
			path := filepath.Join("testdata", "table-"+tt.name+".txt")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s differs (run with -update and look at the diff):\n%s", path, got)
			}
		})
	}
}

func describe(reqs []Request) string {
	var b strings.Builder
	for _, r := range reqs {
		host := r.Host
		if host == "" {
			host = "-"
		}
		fmt.Fprintf(&b, "%s %s\n\tby %s, %s, %s, for %s\n\tCN=%s O=%s\n", host, r.Name,
			r.CA, r.Usage, r.Algorithm, strings.Join(r.Readers, " + "), r.CommonName, strings.Join(r.Organization, ","))
		for _, n := range r.DNSNames {
			fmt.Fprintf(&b, "\tDNS %s\n", n)
		}
		for _, ip := range r.IPs {
			fmt.Fprintf(&b, "\tIP  %s\n", ip)
		}
	}
	return b.String()
}

func TestEndpointHost(t *testing.T) {
	for in, want := range map[string]string{
		"":                     "",
		"api.example.test":     "api.example.test",
		"api.example.test:443": "api.example.test",
		"192.0.2.1":            "192.0.2.1",
		"192.0.2.1:6443":       "192.0.2.1",
		"2001:db8::1":          "2001:db8::1",
		"[2001:db8::1]":        "2001:db8::1",
		"[2001:db8::1]:6443":   "2001:db8::1",
	} {
		if got := endpointHost(in); got != want {
			t.Errorf("endpointHost(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestOnlySuperAdminIsMaster(t *testing.T) {
	s, inv := testCluster(3, 2)
	for _, r := range Table(s, inv) {
		if slices.Contains(r.Organization, MastersGroup) != (r.Name == SuperAdmin) {
			t.Errorf("%s has groups %v", r.title(), r.Organization)
		}
		if r.Name == SuperAdmin && r.Host != "" {
			t.Errorf("super-admin is on host %s", r.Host)
		}
	}
}
