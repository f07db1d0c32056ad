package etcd

import (
	"net/netip"
	"slices"
	"testing"

	"clusterctl/components"
	"clusterctl/provision/inventory"
	"clusterctl/provision/spec"
)

func TestEndpointsNameAllMembersTheNodesOwnFirst(t *testing.T) {
	var inv inventory.Inventory
	for i, name := range []string{"cp-1", "cp-2", "cp-3"} {
		inv.Hosts = append(inv.Hosts, inventory.Host{Name: name, Role: inventory.ControlPlane, Address: netip.AddrFrom4([4]byte{192, 0, 2, byte(11 + i)})})
	}
	inv.Hosts = append(inv.Hosts, inventory.Host{Name: "worker-1", Role: inventory.Worker, Address: netip.MustParseAddr("192.0.2.21")})
	const one, two, three = "https://192.0.2.11:2379", "https://192.0.2.12:2379", "https://192.0.2.13:2379"
	for i, want := range [][]string{{one, two, three}, {two, one, three}, {three, one, two}} {
		if got := Endpoints(components.Node{Inventory: inv, Host: inv.Hosts[i]}); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", inv.Hosts[i].Name, got, want)
		}
	}
}

func TestQuotaIsWrittenInBytes(t *testing.T) {
	n := components.Node{Spec: &spec.Cluster{}}
	n.Spec.Spec.Etcd.Quota = "2Gi"
	args, err := Args(n)
	if err != nil || !slices.Contains(args, "--quota-backend-bytes=2147483648") {
		t.Errorf("error %v, arguments %q", err, args)
	}
	n.Spec.Spec.Etcd.Quota = "much"
	if _, err := Args(n); err == nil {
		t.Error("no error for a quota that is no quantity")
	}
}
