package local

import (
	"net/netip"
	"strings"
	"testing"

	"clusterctl/provision/inventory"
	"clusterctl/provision/spec"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func example() *spec.Cluster {
	s := &spec.Cluster{Metadata: spec.Metadata{Name: "dev"}}
	s.Spec.Provider.Local = &spec.Local{Subnet: "10.89.7.0/24"}
	s.Spec.ControlPlane.Replicas = 3
	s.Spec.Workers = []spec.WorkerPool{
		{Name: "default", Replicas: 2, Labels: map[string]string{"a": "b"}},
		{Name: "big", Replicas: 1, Taints: []spec.Taint{{Key: "k", Effect: "NoSchedule"}}},
	}
	return s
}

func addresses(inv inventory.Inventory) map[string]string {
	out := map[string]string{}
	for _, h := range inv.Hosts {
		out[h.Name] = h.Address.String()
	}
	return out
}

func TestPlanNamesHostsAndGivesAddresses(t *testing.T) {
	inv, err := Plan(example())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"dev-cp-1": "10.89.7.11", "dev-cp-2": "10.89.7.12", "dev-cp-3": "10.89.7.13",
		"dev-default-1": "10.89.7.21", "dev-default-2": "10.89.7.22", "dev-big-1": "10.89.7.41",
	}
	if d := cmp.Diff(want, addresses(inv)); d != "" {
		t.Error(d)
	}
	big, _ := inv.Get("dev-big-1")
	wantBig := inventory.Host{
		Name: "dev-big-1", Role: inventory.Worker, Pool: "big", Address: netip.MustParseAddr("10.89.7.41"),
		SSH:    inventory.SSH{Address: "10.89.7.41", Port: 22, User: "root"},
		Taints: []inventory.Taint{{Key: "k", Effect: "NoSchedule"}},
	}
	if d := cmp.Diff(wantBig, big, cmpopts.EquateComparable(netip.Addr{})); d != "" {
		t.Error(d)
	}
}

func TestScalingMovesNoOtherHost(t *testing.T) {
	before, err := Plan(example())
	if err != nil {
		t.Fatal(err)
	}
	s := example()
	s.Spec.ControlPlane.Replicas = 5
	s.Spec.Workers[0].Replicas = 20
	s.Spec.Workers = append(s.Spec.Workers, spec.WorkerPool{Name: "new", Replicas: 3})
	after, err := Plan(s)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[netip.Addr]string{}
	for _, h := range after.Hosts {
		if other, ok := seen[h.Address]; ok {
			t.Errorf("%s and %s share %s", h.Name, other, h.Address)
		}
		seen[h.Address] = h.Name
	}
	got := addresses(after)
	for name, address := range addresses(before) {
		if got[name] != address {
			t.Errorf("%s moved from %s to %s", name, address, got[name])
		}
	}
}

func TestPlanRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*spec.Cluster)
		want   string
	}{
		"another provider":       {func(s *spec.Cluster) { s.Spec.Provider.Local = nil }, "spec.provider.local"},
		"no subnet":              {func(s *spec.Cluster) { s.Spec.Provider.Local.Subnet = "" }, "spec.provider.local.subnet"},
		"IPv6":                   {func(s *spec.Cluster) { s.Spec.Provider.Local.Subnet = "fd00::/64" }, "not IPv4"},
		"small subnet":           {func(s *spec.Cluster) { s.Spec.Provider.Local.Subnet = "10.0.0.0/28" }, "larger range"},
		"broadcast address":      {func(s *spec.Cluster) { s.Spec.Workers[0].Replicas = 11; s.Spec.Provider.Local.Subnet = "10.0.0.0/27" }, "larger range"},
		"end of IPv4":            {func(s *spec.Cluster) { s.Spec.Provider.Local.Subnet = "255.255.255.240/28" }, "larger range"},
		"too many control":       {func(s *spec.Cluster) { s.Spec.ControlPlane.Replicas = 11 }, "at most 9"},
		"too large a pool":       {func(s *spec.Cluster) { s.Spec.Workers[1].Replicas = 21 }, "spec.workers[1].replicas"},
		"a pool like the others": {func(s *spec.Cluster) { s.Spec.Workers[0].Name = "cp" }, "two hosts are called dev-cp-1"},
	} {
		t.Run(name, func(t *testing.T) {
			s := example()
			c.change(s)
			if _, err := Plan(s); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestNetworkNamesFitAndDiffer(t *testing.T) {
	if n := networkName(strings.Repeat("x", 63)); len(n) > 15 {
		t.Errorf("%s has %d bytes", n, len(n))
	}
	if networkName("a") == networkName("b") {
		t.Error("two clusters share a name")
	}
	a, b := layout{net: networkName("a")}, layout{net: networkName("a-b")}
	if a.namespace("a-b-c-1") == b.namespace("a-b-c-1") {
		t.Error("two clusters share a namespace")
	}
}

func TestPlanIsTheSameEveryTime(t *testing.T) {
	a, _ := Plan(example())
	b, _ := Plan(example())
	if d := cmp.Diff(a, b, cmpopts.EquateComparable(netip.Addr{})); d != "" {
		t.Error(d)
	}
}
