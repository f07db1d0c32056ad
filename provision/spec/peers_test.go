package spec_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"clusterctl/provision/spec"
)

// files writes specs into one directory and gives their paths in the order of the names.
func files(t *testing.T, texts ...string) []string {
	t.Helper()
	dir := t.TempDir()
	var out []string
	for i, text := range texts {
		path := filepath.Join(dir, string(rune('a'+i))+".yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out = append(out, path)
	}
	return out
}

// named is a local cluster with more below spec.
func named(name, more string) string {
	return strings.Replace(local(more), "{name: dev}", "{name: "+name+"}", 1)
}

// metal is a cluster of one SSH host with more below spec.
func metal(name, address, more string) string {
	return strings.Replace(ssh("name: "+name+"-1, address: "+address), "{name: dev}", "{name: "+name+"}", 1) + more
}

func TestPeersMustBeApart(t *testing.T) {
	const apart = "  network: {podCIDR: 10.200.0.0/16, serviceCIDR: 10.201.0.0/16}\n"
	for name, c := range map[string]struct {
		texts []string
		want  []string // one for each problem, of the second file
	}{
		"strangers may overlap": {[]string{named("a", ""), named("b", "")}, nil},
		"peers apart":           {[]string{named("a", "  peers: [b]\n"), named("b", apart)}, nil},
		"defaults overlap": {[]string{named("a", "  peers: [b]\n"), named("b", "")}, []string{
			"spec.network.podCIDR: 10.244.0.0/16 overlaps 10.244.0.0/16 of spec.network.podCIDR of its peer a",
			"spec.network.serviceCIDR: 10.96.0.0/16 overlaps 10.96.0.0/16 of spec.network.serviceCIDR of its peer a"}},
		"the later one names": {[]string{named("a", "  network: {podCIDR: 10.200.0.0/15, serviceCIDR: 10.98.0.0/16}\n"), named("b", "  peers: [A]\n"+apart)}, []string{
			"spec.network.podCIDR: 10.200.0.0/16 overlaps 10.200.0.0/15", "spec.network.serviceCIDR: 10.201.0.0/16 overlaps 10.200.0.0/15 of spec.network.podCIDR"}},
		"host in the other's pods": {[]string{metal("a", "10.200.0.9", "  peers: [b]\n"), named("b", apart)}, []string{
			"spec.network.podCIDR: 10.200.0.0/16 holds 10.200.0.9 of spec.controlPlane.hosts[0].address of its peer a"}},
		"pods over the other's host": {[]string{named("a", apart), metal("b", "10.201.0.9", "  peers: [a]\n")}, []string{
			"spec.controlPlane.hosts[0].address: 10.201.0.9 is inside 10.201.0.0/16 of spec.network.serviceCIDR of its peer a"}},
		"one host in both": {[]string{metal("a", "192.0.2.1", apart), metal("b", "192.0.2.1", "  peers: [a]\n")}, []string{
			"spec.controlPlane.hosts[0].address: 192.0.2.1 is the address of spec.controlPlane.hosts[0].address of its peer a"}},
		"same name": {[]string{named("a", ""), named("A", apart)}, []string{"metadata.name: a is the name of the cluster in"}},
	} {
		t.Run(name, func(t *testing.T) {
			loaded := spec.LoadAll(files(t, c.texts...))
			if loaded[0].Err != nil {
				t.Fatal(loaded[0].Err)
			}
			var got []string
			if err := loaded[1].Err; err != nil {
				got = strings.Split(err.Error(), "\n")
			}
			if len(got) != len(c.want) {
				t.Fatalf("%d problems, want %d:\n%s", len(got), len(c.want), strings.Join(got, "\n"))
			}
			for i, want := range c.want {
				if !strings.Contains(got[i], want) || !strings.Contains(got[i], "a.yaml:") {
					t.Errorf("%s\nwant %q", got[i], want)
				}
			}
		})
	}
}
