package cloudtest

import (
	"os"
	"strings"
	"testing"

	"clusterctl/provision/cloud/layout"
	"clusterctl/provision/spec"
)

// Example gives the cluster of examples/NAME.yaml, with the one place of old in it replaced; old may be
// empty. It is for tests of a cloud's package.
func Example(t *testing.T, name, old, new string) layout.Cluster {
	t.Helper()
	text, err := os.ReadFile("../../../examples/" + name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), old); n != 1 && old != "" {
		t.Fatalf("the example has %q %d times, need it once", old, n)
	}
	return Cluster(t, strings.Replace(string(text), old, new, 1))
}

// Cluster gives the cluster of a spec, before anything of it is there.
func Cluster(t *testing.T, text string) layout.Cluster {
	t.Helper()
	s, err := spec.Parse("spec.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	machines, err := layout.Plan(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return layout.Cluster{Spec: s, Machines: machines, LoginKey: Key}
}
