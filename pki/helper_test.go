package pki

import (
	"crypto/rand"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"clusterctl/provision/inventory"
	"clusterctl/provision/spec"
)

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// testCluster is a spec with the defaults that matter here, and its hosts.
func testCluster(controlPlanes, workers int) (*spec.Cluster, inventory.Inventory) {
	s := &spec.Cluster{
		Metadata: spec.Metadata{Name: "dev"},
		Spec: spec.Spec{Network: spec.Network{
			ServiceCIDR: "10.96.0.0/16", ClusterDomain: "cluster.local", CNI: "flannel", KubeProxy: "nftables",
		}},
	}
	var inv inventory.Inventory
	add := func(role inventory.Role, prefix string, n int, net [2]byte) {
		for i := range n {
			name := fmt.Sprintf("%s%d", prefix, i+1)
			inv.Hosts = append(inv.Hosts, inventory.Host{
				Name: name, Role: role,
				Address: netip.AddrFrom4([4]byte{net[0], net[1], byte((i + 11) >> 8), byte(i + 11)}),
				SSH:     inventory.SSH{Address: fmt.Sprintf("198.51.100.%d", (i+11)%250), Port: 22, User: "root"},
			})
		}
	}
	add(inventory.ControlPlane, "cp", controlPlanes, [2]byte{10, 1})
	add(inventory.Worker, "w", workers, [2]byte{10, 2})
	return s, inv
}

func mustNew(t testing.TB, alg Algorithm) *Secrets {
	t.Helper()
	s, err := New(Options{Cluster: "dev", Algorithm: alg}, noon, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustEnsure(t testing.TB, s *Secrets, reqs []Request, now time.Time) []Change {
	t.Helper()
	changes, err := s.Ensure(reqs, now, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return changes
}

func mustEncode(t testing.TB, s *Secrets) string {
	t.Helper()
	data, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
