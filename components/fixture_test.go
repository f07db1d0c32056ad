package components_test

import (
	"crypto/rand"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"clusterctl/components"
	"clusterctl/components/balancer"
	"clusterctl/components/cni"
	"clusterctl/components/containerd"
	"clusterctl/components/etcd"
	"clusterctl/components/flannel"
	"clusterctl/components/kubernetes"
	"clusterctl/components/linux"
	"clusterctl/components/release"
	"clusterctl/components/resource"
	"clusterctl/pki"
	"clusterctl/provision/inventory"
	"clusterctl/provision/spec"
	"clusterctl/provision/static"
)

const newest = "v1.37.2"

var (
	noon    = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	machine = components.HostFacts{CgroupV2: true, SysResource: true, ResolvConf: "/etc/resolv.conf"}
	// confined is a host that is itself a container, on a machine with cgroup v1.
	confined = components.HostFacts{Container: true, ResolvConf: "/run/systemd/resolve/resolv.conf"}
)

// variant is a cluster that differs from the plain one of three control planes and two workers.
type variant struct {
	version    string
	kubernetes string // further lines of spec.kubernetes
	rest       string // further lines of spec
	prefix     string // of every host's address
	private    string // prefix of the hosts' private addresses
	facts      components.HostFacts
}

// plain is the variant that says nothing.
func plain() variant { return variant{version: newest, prefix: "192.0.2.", facts: machine} }

func ipv6() variant {
	v := plain()
	v.prefix = "2001:db8::"
	v.rest = "  network: {podCIDR: '2001:db8:244::/56', serviceCIDR: '2001:db8:96::/112'}\n"
	return v
}

// text is the variant's spec file.
func (v variant) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: clusterctl/v1alpha1\nkind: Cluster\nmetadata: {name: dev}\nspec:\n")
	fmt.Fprintf(&b, "  kubernetes:\n    version: %s\n%s  provider: {ssh: {}}\n%s", v.version, v.kubernetes, v.rest)
	host := func(name string, n int) {
		fmt.Fprintf(&b, "      - {name: %s, address: '%s%d'", name, v.prefix, n)
		if v.private != "" {
			fmt.Fprintf(&b, ", privateAddress: '%s%d'", v.private, n)
		}
		b.WriteString("}\n")
	}
	b.WriteString("  controlPlane:\n    hosts:\n")
	for i := range 3 {
		host(fmt.Sprintf("cp-%d", i+1), 11+i)
	}
	b.WriteString("  workers:\n  - name: default\n    labels: {example.com/disk: ssd}\n    taints: [{key: example.com/batch, value: \"yes\", effect: NoSchedule}]\n    hosts:\n")
	for i := range 2 {
		host(fmt.Sprintf("worker-%d", i+1), 21+i)
	}
	return b.String()
}

// nodes gives every node of a variant, control planes first. Two calls give different keys.
func nodes(t *testing.T, v variant) []components.Node {
	t.Helper()
	s, err := spec.Parse("spec.yaml", []byte(v.text()))
	if err != nil {
		t.Fatal(err)
	}
	inv, err := static.Plan(s)
	if err != nil {
		t.Fatal(err)
	}
	return nodesOf(t, s, inv, v.facts)
}

// nodesOf gives every node of a cluster.
func nodesOf(t *testing.T, s *spec.Cluster, inv inventory.Inventory, facts components.HostFacts) []components.Node {
	t.Helper()
	rel, err := release.For(s.Spec.Kubernetes.Version)
	if err != nil {
		t.Fatal(err)
	}
	secrets, err := pki.New(pki.Options{Cluster: "dev"}, noon, io.MultiReader(strings.NewReader(strings.Repeat("x", 60)), rand.Reader))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := secrets.Ensure(pki.Table(s, inv), noon, rand.Reader); err != nil {
		t.Fatal(err)
	}
	id := components.Identity{EtcdToken: "dev-token", EtcdClusterID: "c0ffee"}
	for _, h := range inv.ControlPlanes() {
		id.EtcdMembers = append(id.EtcdMembers, components.EtcdMember{Name: h.Name, PeerURL: components.URL("https", h.Address.String(), components.EtcdPeerPort)})
	}
	var out []components.Node
	for _, h := range inv.Hosts {
		out = append(out, components.Node{
			Spec: s, Inventory: inv, Host: h, Facts: facts, Release: rel, Secrets: secrets, Identity: id, Binaries: binaries(rel),
		})
	}
	return out
}

// binaries is a bundle of a release whose artifacts are made up.
func binaries(rel release.Release) map[string]components.Binary {
	out := map[string]components.Binary{}
	for _, c := range rel.Components {
		for _, a := range c.Artifacts {
			sum := resource.Sum([]byte(a.Name + " " + c.Version))
			b := components.Binary{Name: a.Name, Version: c.Version, SHA256: sum, Size: int64(len(a.Name)) << 20, Reference: a.Image.Reference}
			if a.Kind == release.Image {
				b.ImageDigest = "sha256:" + resource.Sum([]byte(sum))
			}
			out[a.Name] = b
		}
	}
	return out
}

// all lists what runs on a node, in the order in which it is put there.
func all(n components.Node) []components.Component {
	out := []components.Component{linux.Component{}}
	if n.IsControlPlane() {
		out = append(out, etcd.Component{}, kubernetes.APIServer{}, kubernetes.ControllerManager{}, kubernetes.Scheduler{})
	}
	out = append(out, containerd.Component{}, cni.Component{}, balancer.Component{}, kubernetes.Kubectl{}, kubernetes.Kubelet{}, kubernetes.Proxy{})
	if n.Spec.Spec.Network.CNI == "flannel" {
		out = append(out, flannel.Component{})
	}
	return out
}

// resources gives everything of a node, with repetitions.
func resources(t *testing.T, n components.Node) []resource.Resource {
	t.Helper()
	var out []resource.Resource
	for _, c := range all(n) {
		rs, err := c.Resources(n)
		if err != nil {
			t.Fatalf("%s on %s: %v", c.Name(), n.Host.Name, err)
		}
		out = append(out, rs...)
	}
	images, err := containerd.Images(n, "pause-image", "coredns-image")
	if err != nil {
		t.Fatal(err)
	}
	out = append(out, images...)
	if n.Spec.Spec.Network.CNI == "flannel" {
		f, err := flannel.Conflist(n.Host.Name)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, f)
	}
	return out
}

// files gives a node's files by path.
func files(t *testing.T, n components.Node) map[string]resource.File {
	t.Helper()
	out := map[string]resource.File{}
	for _, r := range resources(t, n) {
		switch f := r.(type) {
		case resource.File:
			out[f.Path] = f
		case resource.Seed:
			out[f.File.Path] = f.File
		}
	}
	return out
}

// unitArgs is the argument vector of a node's unit, read as systemd reads it.
func unitArgs(t *testing.T, n components.Node, unit string) []string {
	t.Helper()
	f, ok := files(t, n)[components.UnitDir+"/"+unit+".service"]
	if !ok {
		t.Fatalf("%s has no unit %s", n.Host.Name, unit)
	}
	return setting(t, string(f.Content), "ExecStart", true)
}

// argument finds --name=value in an argument vector.
func argument(t *testing.T, args []string, name string) string {
	t.Helper()
	i := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, "--"+name+"=") })
	if i < 0 {
		t.Fatalf("no argument --%s in %q", name, args)
	}
	return strings.TrimPrefix(args[i], "--"+name+"=")
}

func isControlPlane(n components.Node) bool { return n.Host.Role == inventory.ControlPlane }
