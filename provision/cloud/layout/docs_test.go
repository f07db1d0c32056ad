package layout

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"clusterctl/provision/spec"

	"github.com/google/go-cmp/cmp"
)

// TestNetworkPageHasTheTable: docs/network.md says what the clouds' firewalls let through.
func TestNetworkPageHasTheTable(t *testing.T) {
	text, err := os.ReadFile("../../../docs/network.md")
	if err != nil {
		t.Fatal(err)
	}
	var have []string
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| from ") {
			have = append(have, strings.TrimSpace(line))
		}
	}
	var want []string
	for _, r := range Rules(cluster(3), spec.CloudAccess{SSH: "bastion", NodePortsFrom: []string{"10.0.0.0/8"}}, true) {
		port := fmt.Sprint(r.First)
		if r.Last != r.First {
			port += fmt.Sprintf("-%d", r.Last)
		}
		want = append(want, fmt.Sprintf("| %s | %s | %s %s | %s |", r.From, r.To, r.Protocol, port, r.Why))
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Error(diff)
	}
}
