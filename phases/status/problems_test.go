package status

import (
	"net/netip"
	"slices"
	"testing"

	"clusterctl/provision/inventory"
)

func TestUnitsThatDoNotRunAndAnAddressThatIsGoneAreNamed(t *testing.T) {
	h := inventory.Host{Name: "cp-2", Address: netip.MustParseAddr("192.0.2.12")}
	const units = "disk /opt/clusterctl/kubernetes/v1.37.2/\nrunning kubelet.service /opt/clusterctl/kubernetes/v1.37.2/kubernetes\n"
	for text, want := range map[string][]string{
		units + "2: eth0    inet 192.0.2.12/24 scope global eth0\n":                                 nil,
		units + "down flanneld.service inactive\n2: eth0    inet 192.0.2.12/24 scope global eth0\n": {"cp-2: flanneld.service is inactive"},
		units + "2: eth0    inet 192.0.2.77/24 scope global dynamic eth0\n": {
			"cp-2: its cluster address is gone: expected 192.0.2.12, has 192.0.2.77; give it back, or write the new one in the spec and run up"},
		units: nil, // a host without the program ip says nothing
	} {
		if got := problems(h, text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
