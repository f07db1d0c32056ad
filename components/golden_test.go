package components_test

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/pmezard/go-difflib/difflib"
	"sigs.k8s.io/yaml"

	"clusterctl/components"
	"clusterctl/components/coredns"
	"clusterctl/components/flannel"
	"clusterctl/components/kubernetes"
	"clusterctl/components/resource"
	"clusterctl/e2e/golden"
)

// TestGoldenFilesOfEachKubernetesMinor holds everything that a host gets, but secrets: an edit
// that changes what running clusters have shows here.
func TestGoldenFilesOfEachKubernetesMinor(t *testing.T) {
	for _, version := range []string{"v1.37.2", "v1.36.3"} {
		t.Run(version, func(t *testing.T) {
			v := plain()
			v.version = version
			golden.Check(t, "testdata/"+version+".txt", join(render(t, v)))
		})
	}
}

// TestGoldenDifferencesOfEachVariant holds what a setting or a kind of host changes, as the
// difference from the newest minor's golden file.
func TestGoldenDifferencesOfEachVariant(t *testing.T) {
	base := render(t, plain())
	hosts := plain()
	hosts.facts = confined
	variants := map[string]variant{"confined": hosts, "ipv6": ipv6()}
	for name, rest := range map[string]string{
		"proxy-iptables": "  network: {kubeProxy: iptables}\n", "proxy-ipvs": "  network: {kubeProxy: ipvs}\n",
		"proxy-none": "  network: {kubeProxy: none}\n", "cni-none": "  network: {cni: none}\n", "swap-allow": "  host: {swap: allow}\n",
	} {
		v := plain()
		v.rest = rest
		variants[name] = v
	}
	restricted := plain()
	restricted.kubernetes = "    podSecurity: restricted\n"
	variants["pod-security-restricted"] = restricted
	for _, name := range slices.Sorted(maps.Keys(variants)) {
		t.Run(name, func(t *testing.T) {
			golden.Check(t, "testdata/"+name+".diff", difference(t, base, render(t, variants[name])))
		})
	}
}

// render gives text by title: lists of resources and files of the first control plane and the
// first worker, and the objects of the API.
func render(t *testing.T, v variant) map[string]string {
	t.Helper()
	out := map[string]string{}
	ns := nodes(t, v)
	for i, n := range []components.Node{ns[0], ns[3]} {
		name := n.Host.Name
		list := fmt.Sprintf("%d %s: resources", i, name)
		seen := map[resource.Key]bool{}
		for _, r := range resources(t, n) {
			if seen[r.Key()] {
				continue
			}
			seen[r.Key()] = true
			out[list] += describe(r) + "\n"
			f, ok := r.(resource.File)
			if seed, is := r.(resource.Seed); is {
				f, ok = seed.File, true
			}
			if !ok || f.Secret || bytes.Contains(f.Content, []byte("-----BEGIN")) {
				continue
			}
			text := string(f.Content)
			if i > 0 && out["0 "+ns[0].Host.Name+": "+f.Path] == text {
				text = "the same as on " + ns[0].Host.Name + "\n"
			}
			out[fmt.Sprintf("%d %s: %s", i, name, f.Path)] = text
		}
	}
	out["2 objects"] = objects(t, ns)
	return out
}

func describe(r resource.Resource) string {
	text := fmt.Sprintf("%-9s %s", r.Key().Kind, r.Title())
	switch r := r.(type) {
	case resource.File:
		text += " " + resource.ModeDigest(r.Mode, r.Owner)
		if r.Secret {
			text += " secret"
		}
	case resource.Artifact:
		text += " " + resource.ModeDigest(r.Mode, "")
	case resource.Dir:
		text += " " + resource.ModeDigest(r.Mode, r.Owner)
	}
	return text
}

func objects(t *testing.T, ns []components.Node) string {
	t.Helper()
	access, err := kubernetes.Objects()
	if err != nil {
		t.Fatal(err)
	}
	network, err := flannel.Objects()
	if err != nil {
		t.Fatal(err)
	}
	dns, err := coredns.Objects(ns[0].Spec, len(ns))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, r := range slices.Concat(access, network, dns) {
		text, err := yaml.Marshal(r.(resource.Manifest).Object.Object)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "# %s\n%s", r.Title(), text)
	}
	for _, n := range ns {
		node := kubernetes.Node(n).(resource.Node)
		fmt.Fprintf(&b, "# %s: %v %v\n", node.Title(), node.Labels, node.Taints)
	}
	return b.String()
}

// join writes texts in the order of their titles, each after a header.
func join(texts map[string]string) string {
	var b strings.Builder
	for _, title := range slices.Sorted(maps.Keys(texts)) {
		fmt.Fprintf(&b, "-- %s --\n%s", title[2:], texts[title])
	}
	return b.String()
}

func difference(t *testing.T, base, other map[string]string) string {
	t.Helper()
	diffs := map[string]string{}
	titles := maps.Clone(base)
	maps.Copy(titles, other)
	for title := range titles {
		if _, ok := other[title]; !ok {
			diffs[title] = "is not there\n"
			continue
		}
		text, err := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
			A: difflib.SplitLines(base[title]), B: difflib.SplitLines(other[title]), Context: 1,
		})
		if err != nil {
			t.Fatal(err)
		}
		if text != "" {
			diffs[title] = text
		}
	}
	return join(diffs)
}
