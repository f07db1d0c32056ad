package preflight

import (
	"strings"
	"testing"
)

func TestAnotherVersionOfARunningClusterIsRefused(t *testing.T) {
	in := good(t)
	for name, r := range in.Reports {
		r.Running = map[string]string{"kubelet": in.Spec.Spec.Kubernetes.Version}
		in.Reports[name] = r
	}
	if found := Run(in); len(found) > 0 {
		t.Fatalf("the spec's own version: %v", found)
	}
	first := in.Inventory.Hosts[0].Name
	r := in.Reports[first]
	r.Running = map[string]string{"kubelet": "v1.36.3"}
	in.Reports[first] = r
	found := Run(in)
	if len(found) != 1 || found[0].Check != "version" || found[0].Host != first || !strings.Contains(found[0].Message, "v1.36.3") {
		t.Errorf("findings %v", found)
	}
}
