package pki

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"clusterctl/e2e/golden"
	"clusterctl/provision/inventory"
	"clusterctl/provision/spec"
)

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
			golden.Check(t, "testdata/table-"+tt.name+".txt", describe(Table(tt.s, tt.inv)))
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

// A cluster on IPv6: every address by which a listener is reached is in its certificate.
func TestIPv6AddressesVerify(t *testing.T) {
	c, inv := testCluster(1, 1)
	c.Spec.Network.ServiceCIDR = "fd00:96::/112"
	c.Spec.ControlPlane.Endpoint = "[2001:db8::100]:443"
	inv.Hosts[0].Address, inv.Hosts[1].Address = netip.MustParseAddr("2001:db8::11"), netip.MustParseAddr("2001:db8::21")
	s := mustNew(t, "")
	mustEnsure(t, s, Table(c, inv), noon)
	for _, tt := range []struct {
		host, name string
		reached    []string
	}{
		{"cp1", APIServer, []string{"[2001:db8::11]", "[2001:db8::100]", "[fd00:96::1]", "[::1]", "127.0.0.1", "cp1", ServerName, "198.51.100.11"}},
		{"cp1", EtcdServer, []string{"[2001:db8::11]", "[::1]", "localhost"}},
		{"cp1", EtcdPeer, []string{"[2001:db8::11]", "cp1"}},
		{"w1", KubeletServing, []string{"[2001:db8::21]", "w1"}},
	} {
		l, _ := s.Leaf(tt.host, tt.name)
		for _, name := range tt.reached {
			if err := l.cert.VerifyHostname(name); err != nil {
				t.Error(err)
			}
		}
		if l.cert.VerifyHostname("[2001:db8::99]") == nil {
			t.Errorf("%s fits a foreign address", l)
		}
	}
}
