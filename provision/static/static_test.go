package static

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"clusterctl/provision"
	"clusterctl/provision/event"
	"clusterctl/provision/inventory"
	"clusterctl/provision/spec"
)

// load reads a spec whose provider is ssh with the given settings and hosts.
func load(t *testing.T, ssh, controlPlane, more string) *spec.Cluster {
	t.Helper()
	text := `apiVersion: clusterctl/v1alpha1
kind: Cluster
metadata: {name: dev}
spec:
  kubernetes: {version: v1.37.2}
  provider: {ssh: {` + ssh + `}}
  controlPlane:
    hosts: [` + controlPlane + `]
` + more
	s, err := spec.Parse("spec.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var compareAddr = cmpopts.EquateComparable(netip.Addr{})

func TestHostSettingsWinOverTheProviders(t *testing.T) {
	s := load(t, "user: ops, port: 2200, keyPath: ~/.ssh/shared, sudoPassword: true, bastion: {address: b.example.com, user: jump}",
		"{name: CP-1, address: 192.0.2.1}, {name: cp-2, address: 192.0.2.2, user: root, port: 22, keyPath: ~/own, bastion: {address: 192.0.2.200}}, {name: cp-3, address: 192.0.2.3}",
		"")
	inv, err := Plan(s)
	if err != nil {
		t.Fatal(err)
	}
	want := []inventory.Host{{
		Name: "cp-1", Role: inventory.ControlPlane, Address: netip.MustParseAddr("192.0.2.1"),
		SSH: inventory.SSH{Address: "192.0.2.1", Port: 2200, User: "ops", KeyPath: "~/.ssh/shared", SudoPassword: true,
			Bastion: &inventory.SSH{Address: "b.example.com", Port: 22, User: "jump", KeyPath: "~/.ssh/shared"}},
	}, {
		Name: "cp-2", Role: inventory.ControlPlane, Address: netip.MustParseAddr("192.0.2.2"),
		SSH: inventory.SSH{Address: "192.0.2.2", Port: 22, User: "root", KeyPath: "~/own", SudoPassword: true,
			Bastion: &inventory.SSH{Address: "192.0.2.200", Port: 22, User: "root", KeyPath: "~/own"}},
	}}
	if diff := cmp.Diff(want, inv.Hosts[:2], compareAddr); diff != "" {
		t.Error(diff)
	}
}

func TestPrivateAddressIsTheClusterAddress(t *testing.T) {
	s := load(t, "", "{name: a, address: 198.51.100.10, privateAddress: 192.0.2.10}", "")
	inv, err := New().Ensure(t.Context(), s, event.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if h := inv.Hosts[0]; h.Address.String() != "192.0.2.10" || h.SSH.Address != "198.51.100.10" {
		t.Errorf("cluster address %s, SSH address %s", h.Address, h.SSH.Address)
	}
}

func TestPoolsGiveLabelsAndTaints(t *testing.T) {
	s := load(t, "", "{name: a, address: 192.0.2.1}", `
  workers:
  - name: gpu
    labels: {disk: hdd, pool: gpu}
    taints: [{key: gpu, value: "yes", effect: NoSchedule}]
    hosts: [{name: w1, address: 192.0.2.2, labels: {disk: ssd}}]
`)
	inv, err := Plan(s)
	if err != nil {
		t.Fatal(err)
	}
	w, _ := inv.Get("w1")
	want := inventory.Host{Name: "w1", Role: inventory.Worker, Pool: "gpu", Address: netip.MustParseAddr("192.0.2.2"),
		SSH:    inventory.SSH{Address: "192.0.2.2", Port: 22, User: "root"},
		Labels: map[string]string{"disk": "ssd", "pool": "gpu"},
		Taints: []inventory.Taint{{Key: "gpu", Value: "yes", Effect: "NoSchedule"}}}
	if diff := cmp.Diff(want, w, compareAddr); diff != "" {
		t.Error(diff)
	}
}

func TestIPv6HasBracketsOnlyWhereAPortFollows(t *testing.T) {
	s := load(t, "", "{name: a, address: '2001:DB8:0::10'}", "  network: {podCIDR: 'fd00:1::/48', serviceCIDR: 'fd00:2::/112'}\n")
	changes, err := New().Preview(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	want := []provision.Change{{Verb: provision.Keep, Kind: "host", Name: "a", Detail: "root@[2001:db8::10]:22"}}
	if diff := cmp.Diff(want, changes); diff != "" {
		t.Error(diff)
	}
	inv, err := Plan(s)
	if err != nil {
		t.Fatal(err)
	}
	if h := inv.Hosts[0]; h.SSH.Address != "2001:db8::10" || h.Address.String() != "2001:db8::10" {
		t.Errorf("SSH address %q, cluster address %q", h.SSH.Address, h.Address)
	}
}

// names is a resolver with fixed answers.
type names map[string][]netip.Addr

func (n names) LookupNetIP(_ context.Context, network, host string) ([]netip.Addr, error) {
	a, ok := n[network+" "+host]
	if !ok {
		return nil, errNoName
	}
	return a, nil
}

var errNoName = errors.New("no such host")

func TestNamesAreLookedUpByEnsureOnly(t *testing.T) {
	s := load(t, "", "{name: a, address: a.example.com}", "")
	inv, err := Plan(s)
	if err != nil || inv.Hosts[0].Address.IsValid() {
		t.Errorf("Plan gives address %v, error %v; want none", inv.Hosts[0].Address, err)
	}
	p := &Provider{resolver: names{"ip4 a.example.com": {
		netip.MustParseAddr("127.0.1.1"), netip.MustParseAddr("192.0.2.9"), netip.MustParseAddr("192.0.2.7")}}}
	inv, err = p.Ensure(t.Context(), s, event.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if h := inv.Hosts[0]; h.Address.String() != "192.0.2.7" || h.SSH.Address != "a.example.com" {
		t.Errorf("cluster address %s, SSH address %s", h.Address, h.SSH.Address)
	}
}

func TestNamesWithoutUsableAddressAreRefusedAllAtOnce(t *testing.T) {
	s := load(t, "", "{name: a, address: a.example.com}, {name: b, address: b.example.com}, {name: c, address: 192.0.2.3}", "")
	p := &Provider{resolver: names{"ip4 a.example.com": {netip.MustParseAddr("127.0.1.1")}}}
	_, err := p.Ensure(t.Context(), s, event.Discard)
	if !errors.Is(err, errNoName) {
		t.Fatalf("error %v, want the resolver's", err)
	}
	for _, want := range []string{"address of a: a.example.com has no address", "address of b: no such host", "set privateAddress"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not say %q", err, want)
		}
	}
}

func TestTwoNamesOfOneHostAreRefused(t *testing.T) {
	s := load(t, "", "{name: a, address: a.example.com}, {name: b, address: b.example.com}, {name: c, address: 192.0.2.3}", "")
	same := []netip.Addr{netip.MustParseAddr("192.0.2.5")}
	p := &Provider{resolver: names{"ip4 a.example.com": same, "ip4 b.example.com": same}}
	_, err := p.Ensure(t.Context(), s, event.Discard)
	if err == nil || !strings.Contains(err.Error(), "hosts a and b both have the cluster address 192.0.2.5") {
		t.Errorf("error %v", err)
	}
}

func TestOtherProvidersSpecIsRefused(t *testing.T) {
	s, err := spec.Parse("spec.yaml", spec.Example("local"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Plan(s); !errors.Is(err, errNotSSH) {
		t.Errorf("error %v, want %v", err, errNotSSH)
	}
}
