package layout

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"clusterctl/provision/spec"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func cluster(controlPlanes int, pools ...string) *spec.Cluster {
	s := &spec.Cluster{Metadata: spec.Metadata{Name: "dev"}}
	s.Spec.ControlPlane.Replicas = controlPlanes
	s.Spec.Network.CNI = "flannel"
	for _, p := range pools {
		name, n, _ := strings.Cut(p, "=")
		pool := spec.WorkerPool{Name: name}
		fmt.Sscan(n, &pool.Replicas)
		s.Spec.Workers = append(s.Spec.Workers, pool)
	}
	return s
}

func ranges(texts ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, t := range texts {
		out = append(out, netip.MustParsePrefix(t))
	}
	return out
}

func addresses(ms []Machine) map[string]string {
	out := map[string]string{}
	for _, m := range ms {
		out[m.Name] = m.Address.String()
	}
	return out
}

func TestHostsAreSpreadOverZonesWithAddressesOfTheirOwn(t *testing.T) {
	zones := ranges("10.0.4.0/22", "10.0.20.0/22")
	ms := Machines(cluster(3, "web=2"), len(zones))
	if err := Allocate(ms, zones, nil); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"dev-cp-1": "10.0.4.1", "dev-cp-2": "10.0.20.1", "dev-cp-3": "10.0.4.2", "dev-web-1": "10.0.4.3", "dev-web-2": "10.0.20.2",
	}
	if diff := cmp.Diff(want, addresses(ms)); diff != "" {
		t.Error(diff)
	}
}

// TestNoHostEverMoves: whatever becomes of the pools, who has an address keeps it, and no two
// hosts have the same.
func TestNoHostEverMoves(t *testing.T) {
	zones := ranges("10.0.4.0/26", "10.0.20.0/26", "10.0.36.0/26")
	have := map[string]netip.Addr{}
	for _, step := range []*spec.Cluster{
		cluster(1), cluster(3, "a=4", "b=2"), cluster(3, "b=5"), cluster(3, "c=3", "b=1", "a=7"), cluster(5, "a=1"), cluster(5, "a=9", "b=9"),
	} {
		ms := Machines(step, len(zones))
		if err := Allocate(ms, zones, have); err != nil {
			t.Fatal(err)
		}
		now, used := map[string]netip.Addr{}, map[netip.Addr]string{}
		for _, m := range ms {
			if before, ok := have[m.Name]; ok && before != m.Address {
				t.Errorf("%s moved from %s to %s", m.Name, before, m.Address)
			}
			if other := used[m.Address]; other != "" {
				t.Errorf("%s and %s both have %s", other, m.Name, m.Address)
			}
			if !zones[m.Zone].Contains(m.Address) {
				t.Errorf("%s has %s outside of %s", m.Name, m.Address, zones[m.Zone])
			}
			now[m.Name], used[m.Address] = m.Address, m.Name
		}
		have = now // the others are gone
	}
}

func TestFullRangeIsRefused(t *testing.T) {
	ms := Machines(cluster(1, "a=20"), 1)
	err := Allocate(ms, ranges("10.0.4.0/28"), nil)
	if want := "the range 10.0.4.0/28 has no address left for host dev-a-14"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v", err)
	}
}

func TestPart(t *testing.T) {
	vpc := netip.MustParsePrefix("10.0.0.0/16")
	for want, got := range map[string]netip.Prefix{
		"10.0.0.0/20": Part(vpc, 4, 0), "10.0.240.0/20": Part(vpc, 4, 15), "10.0.241.0/24": Part(Part(vpc, 4, 15), 4, 1), "10.0.4.0/22": Part(Part(vpc, 4, 0), 2, 1),
	} {
		if got.String() != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestOnlyControlPlanesReachEtcdAndKubelets(t *testing.T) {
	for _, ssh := range []string{"bastion", "public", "private"} {
		for _, r := range Rules(cluster(3), spec.CloudAccess{SSH: ssh, NodePortsFrom: []string{"10.0.0.0/8"}}, true) {
			switch {
			case r.First <= 2380 && r.Last >= 2379 && (r.From != ControlPlanes || r.To != ControlPlanes),
				r.First <= 10250 && r.Last >= 10250 && r.From != ControlPlanes,
				r.First <= 22 && r.Last >= 22 && r.From != SSHFrom && r.From != Bastion:
				t.Errorf("%s: %+v", ssh, r)
			}
		}
	}
}

func TestInventoryGoesThroughTheBastion(t *testing.T) {
	s := cluster(1, "web=1")
	s.Spec.Workers[0].Labels = map[string]string{"a": "b"}
	ms := Machines(s, 1)
	if err := Allocate(ms, ranges("10.0.4.0/24"), nil); err != nil {
		t.Fatal(err)
	}
	inv := Inventory(s, ms, Outputs{Bastion: "203.0.113.1"}, Login{User: "admin", KeyPath: "/k", KnownHostsPath: "/h"})
	w := inv.Hosts[1]
	if w.SSH.Address != "10.0.4.2" || w.SSH.Bastion == nil || w.SSH.Bastion.Address != "203.0.113.1" || w.SSH.Bastion.User != "admin" || w.Labels["a"] != "b" {
		t.Errorf("%+v", w)
	}
	inv = Inventory(s, ms, Outputs{Public: map[string]string{"dev-cp-1": "203.0.113.9"}}, Login{})
	if h := inv.Hosts[0]; h.SSH.Address != "203.0.113.9" || h.SSH.Bastion != nil || h.Address.String() != "10.0.4.1" {
		t.Errorf("%+v", h)
	}
	again := Inventory(s, ms, Outputs{Public: map[string]string{"dev-cp-1": "203.0.113.9"}}, Login{})
	if diff := cmp.Diff(inv, again, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
		t.Error(diff)
	}
}

func TestUserDataHasTheScriptForControlPlanesOnly(t *testing.T) {
	m := Machine{Name: "dev-cp-1"}
	if with, without := CloudConfig(m, true, ""), CloudConfig(m, false, ""); !strings.Contains(with, "etcd-disk") || strings.Contains(without, "etcd-disk") || !strings.HasPrefix(with, "#cloud-config\n") {
		t.Errorf("%s\n%s", with, without)
	}
}
