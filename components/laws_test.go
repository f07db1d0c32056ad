package components_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"clusterctl/components"
	"clusterctl/components/containerd"
	"clusterctl/components/coredns"
	"clusterctl/components/kubernetes"
	"clusterctl/components/linux"
	"clusterctl/components/release"
	"clusterctl/components/resource"
	"clusterctl/pki"
)

func TestSameNodeGivesTheSameResources(t *testing.T) {
	for _, n := range nodes(t, plain()) {
		one, two := resources(t, n), resources(t, n)
		for i := range one {
			if one[i].Key() != two[i].Key() || one[i].Digest() != two[i].Digest() || one[i].Title() != two[i].Title() {
				t.Errorf("%s: %s differs the second time", n.Host.Name, one[i].Key())
			}
			a, isFile := one[i].(resource.File)
			if b, _ := two[i].(resource.File); isFile && !bytes.Equal(a.Content, b.Content) {
				t.Errorf("%s: %s has other bytes the second time", n.Host.Name, a.Path)
			}
		}
	}
}

// TestComponentsThatShareAResourceAgreeOnIt: the engine keeps the first of each key, so a second
// one that differed would be lost.
func TestComponentsThatShareAResourceAgreeOnIt(t *testing.T) {
	for _, n := range nodes(t, plain()) {
		digests := map[resource.Key]string{}
		paths := map[string]resource.Kind{}
		for _, r := range resources(t, n) {
			key := r.Key()
			if have, ok := digests[key]; ok && have != r.Digest() {
				t.Errorf("two components want %s to be different things", key)
			}
			digests[key] = r.Digest()
			if key.Host != n.Host.Name {
				t.Errorf("%s: %s belongs to another host", n.Host.Name, key)
			}
			if strings.HasPrefix(key.Name, "/") {
				if kind, ok := paths[key.Name]; ok && kind != key.Kind {
					t.Errorf("%s: %s is wanted as %s and as %s", n.Host.Name, key.Name, kind, key.Kind)
				}
				paths[key.Name] = key.Kind
			}
		}
	}
}

// readOtherwise are files that a program reads and whose change restarts no unit, with the reason.
var readOtherwise = map[string]string{
	"/etc/kubernetes/balancer.json": "the balancer reads a changed list of backends without a restart",
	"/etc/cni/net.d":                "containerd watches the directory",
	"containerd-shim-runc-v2":       "started anew for every pod",
	"runc":                          "started anew for every container",
}

func readAnyway(p string) bool {
	_, file := readOtherwise[p]
	_, dir := readOtherwise[path.Dir(p)]
	_, program := readOtherwise[path.Base(p)]
	return file || dir || program
}

var absolutePath = regexp.MustCompile(`/[A-Za-z0-9._/-]+`)

// TestUnitsInputsCoverEveryFileTheProcessReads: whatever of ours a unit names, in its command or
// in a configuration file that its command names, is in its digest.
func TestUnitsInputsCoverEveryFileTheProcessReads(t *testing.T) {
	hosts := plain()
	hosts.facts = confined
	for _, v := range []variant{plain(), hosts, ipv6()} {
		for _, n := range nodes(t, v) {
			rs := resources(t, n)
			ours := map[string]resource.Resource{}
			for _, r := range rs {
				switch r.(type) {
				case resource.File, resource.Artifact, resource.Link:
					ours[r.Key().Name] = r
				}
			}
			for _, r := range rs {
				if u, ok := r.(resource.Unit); ok {
					checkInputs(t, u, ours)
				}
			}
		}
	}
}

func checkInputs(t *testing.T, u resource.Unit, ours map[string]resource.Resource) {
	t.Helper()
	todo := []string{components.UnitDir + "/" + u.Name}
	seen := map[string]bool{}
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		r, ok := ours[name]
		if !ok || seen[name] {
			continue
		}
		seen[name] = true
		switch r := r.(type) {
		case resource.Link:
			target := r.Target
			if !path.IsAbs(target) {
				target = path.Join(path.Dir(r.Path), target)
			}
			todo = append(todo, target)
		case resource.File:
			if !slices.Contains(u.Inputs, r.Digest()) && !readAnyway(name) {
				t.Errorf("%s reads %s, which is no input of it", u.Key(), name)
			}
			todo = append(todo, absolutePath.FindAllString(string(r.Content), -1)...)
		case resource.Artifact:
			if !slices.Contains(u.Inputs, r.Digest()) && !readAnyway(name) {
				t.Errorf("%s runs %s, which is no input of it", u.Key(), name)
			}
		}
	}
	if len(seen) < 3 {
		t.Errorf("%s names only %v: the test does not see what it reads", u.Key(), seen)
	}
}

func TestUnitsDigestChangesWithEachOfItsInputs(t *testing.T) {
	service := components.Service{Name: "x", Type: "exec", Args: []string{"/x"}}
	file := resource.File{Host: "a", Path: "/f", Mode: 0o600, Content: []byte("one")}
	digest := func(s components.Service, f resource.File) string {
		rs, err := s.Resources("a", f)
		if err != nil {
			t.Fatal(err)
		}
		return rs[1].Digest()
	}
	base := digest(service, file)
	content, mode, args := file, file, service
	content.Content, mode.Mode, args.Args = []byte("two"), 0o644, []string{"/x", "--y"}
	for name, other := range map[string]string{"content": digest(service, content), "mode": digest(service, mode), "arguments": digest(args, file)} {
		if other == base {
			t.Errorf("another %s leaves the unit's digest as it was", name)
		}
	}
}

// canaries are the bytes that nobody may see: of each secret a part of its PEM text, and its
// base64, as YAML and kubeconfigs have it.
func canaries(n components.Node) map[string]string {
	out := map[string]string{}
	add := func(name string, secret []byte) {
		lines := strings.Split(strings.TrimSpace(string(secret)), "\n")
		out[name+" in base64"] = base64.StdEncoding.EncodeToString(secret)
		if strings.HasPrefix(lines[0], "-----BEGIN") {
			out[name] = lines[2]
			return
		}
		out[name], out[name+" in hex"] = string(secret), fmt.Sprintf("%x", secret)
	}
	for _, a := range pki.Authorities() {
		add(string(a), n.Secrets.CA(a).KeyPEM.Reveal())
	}
	add("service-account key", n.Secrets.ServiceAccount().KeyPEM.Reveal())
	add("encryption key", n.Secrets.Encryption().Key.Reveal())
	for _, r := range pki.Table(n.Spec, n.Inventory) {
		if l, ok := n.Secrets.Leaf(r.Host, r.Name); ok {
			add("key of "+r.Host+" "+r.Name, l.KeyPEM.Reveal())
		}
	}
	return out
}

func TestSecretsAreOnlyInFilesThatAreMarkedSecret(t *testing.T) {
	for _, n := range nodes(t, plain()) {
		inFiles := 0
		for _, r := range resources(t, n) {
			text := r.Title() + " " + fmt.Sprint(r.Key())
			f, isFile := r.(resource.File)
			if isFile && !f.Secret {
				text += string(f.Content)
			}
			if isFile && f.Secret && (f.Mode != 0o600 || f.Owner != "" && f.Owner != "root:root") {
				t.Errorf("secret file %s has mode %o and owner %q", f.Key(), f.Mode, f.Owner)
			}
			for name, canary := range canaries(n) {
				if strings.Contains(text, canary) {
					t.Errorf("%s shows the %s", r.Key(), name)
				}
				if isFile && f.Secret && bytes.Contains(f.Content, []byte(canary)) {
					inFiles++
				}
			}
		}
		if inFiles == 0 {
			t.Errorf("%s: no canary is in any secret file: the test looks for the wrong thing", n.Host.Name)
		}
	}
}

func TestHostsGetOnlyTheKeysTheyNeed(t *testing.T) {
	ns := nodes(t, plain())
	own := func(n components.Node, name string) bool {
		if !isControlPlane(n) && (strings.HasPrefix(name, "ca") || strings.HasPrefix(name, "service-account") || strings.HasPrefix(name, "encryption")) {
			return false
		}
		if strings.HasPrefix(name, "etcd-ca") || strings.HasPrefix(name, "front-proxy-ca") || strings.Contains(name, pki.SuperAdmin) || strings.Contains(name, " "+pki.Admin) {
			return false
		}
		rest, isLeaf := strings.CutPrefix(name, "key of ")
		return !isLeaf || strings.HasPrefix(rest, n.Host.Name+" ") || strings.HasPrefix(rest, " ")
	}
	for _, n := range ns {
		for p, f := range files(t, n) {
			for name, canary := range canaries(n) {
				if bytes.Contains(f.Content, []byte(canary)) && !own(n, name) {
					t.Errorf("%s holds the %s in %s", n.Host.Name, name, p)
				}
			}
		}
	}
}

func TestKeysThatMustBeCommonAreTheSameOnAllControlPlanes(t *testing.T) {
	ns := nodes(t, plain())
	first := files(t, ns[0])
	for _, n := range ns[1:3] {
		have := files(t, n)
		for _, p := range []string{components.ServiceKeyPath, components.ServicePubPath, components.ClusterCAPath, components.ClusterCAKeyPath,
			components.FrontProxyCAPath, components.EtcdCAPath, "/etc/kubernetes/encryption.yaml"} {
			if len(have[p].Content) == 0 || !bytes.Equal(have[p].Content, first[p].Content) {
				t.Errorf("%s has another %s than cp-1", n.Host.Name, p)
			}
		}
	}
}

// TestNoHostDependsOnTheFirstControlPlane: only lists of all members name its address.
func TestNoHostDependsOnTheFirstControlPlane(t *testing.T) {
	address := regexp.MustCompile(`\b192\.0\.2\.11\b`)
	for _, n := range nodes(t, plain())[1:] {
		for p, f := range files(t, n) {
			if p == "/etc/kubernetes/balancer.json" {
				continue // the backends are all API servers
			}
			for line := range strings.Lines(string(f.Content)) {
				list := strings.Contains(line, "ETCD_INITIAL_CLUSTER=") || strings.Contains(line, "--etcd-servers=")
				if address.MatchString(line) && !list {
					t.Errorf("%s: %s names cp-1: %s", n.Host.Name, p, line)
				}
			}
		}
	}
}

func TestEachHostTalksToItsOwnAPIServerOrItsBalancer(t *testing.T) {
	for _, n := range nodes(t, plain()) {
		for p, f := range files(t, n) {
			if !strings.HasSuffix(p, ".conf") || !strings.HasPrefix(p, components.KubernetesDir) {
				continue
			}
			want := "server: https://127.0.0.1:7443\n"
			if strings.Contains(p, "controller-manager") || strings.Contains(p, "scheduler") {
				want = "server: https://127.0.0.1:6443\n"
			}
			if !strings.Contains(string(f.Content), want) {
				t.Errorf("%s: %s does not say %q", n.Host.Name, p, want)
			}
		}
	}
}

var anyURL = regexp.MustCompile(`https?://[^\s",']+`)

func TestIPv6AddressesHaveBracketsWhereAPortFollows(t *testing.T) {
	for _, n := range nodes(t, ipv6()) {
		for p, f := range files(t, n) {
			for _, text := range anyURL.FindAllString(string(f.Content), -1) {
				u, err := url.Parse(text)
				if err != nil {
					t.Errorf("%s: %s: %v", n.Host.Name, p, err)
					continue
				}
				if strings.Contains(u.Hostname(), ":") && (!strings.HasPrefix(u.Host, "[") || u.Port() == "") {
					t.Errorf("%s: %s: %s has an address without brackets", n.Host.Name, p, text)
				}
			}
		}
		checkBare(t, n, unitArgs(t, n, "kubelet"), "node-ip")
		checkBare(t, n, unitArgs(t, n, "flanneld"), "iface")
		balancer := string(files(t, n)["/etc/kubernetes/balancer.json"].Content)
		for _, want := range []string{`"[2001:db8::11]:6443"`, `"[2001:db8::12]:6443"`, `"[2001:db8::13]:6443"`} {
			if !strings.Contains(balancer, want) {
				t.Errorf("%s: balancer.json lacks %s", n.Host.Name, want)
			}
		}
		if !isControlPlane(n) {
			continue
		}
		checkBare(t, n, unitArgs(t, n, "kube-apiserver"), "advertise-address")
		if got, want := argument(t, unitArgs(t, n, "etcd"), "advertise-client-urls"), "https://["+n.Address()+"]:2379"; got != want {
			t.Errorf("etcd advertises %s, want %s", got, want)
		}
	}
}

func checkBare(t *testing.T, n components.Node, args []string, name string) {
	t.Helper()
	if a, err := netip.ParseAddr(argument(t, args, name)); err != nil || a != n.Host.Address {
		t.Errorf("%s: --%s is %v (%v), want %s", n.Host.Name, name, a, err, n.Host.Address)
	}
}

func TestHostPortPutsBracketsAroundIPv6Only(t *testing.T) {
	for _, c := range []struct{ host, want string }{
		{"192.0.2.1", "192.0.2.1:6443"}, {"2001:db8::6443", "[2001:db8::6443]:6443"}, {"api.example.test", "api.example.test:6443"}, {"::", "[::]:6443"},
	} {
		got := components.HostPort(c.host, 6443)
		if host, _, err := net.SplitHostPort(got); got != c.want || err != nil || host != c.host {
			t.Errorf("HostPort(%s) is %s (%v), want %s", c.host, got, err, c.want)
		}
		if got, want := components.URL("https", c.host, 6443), "https://"+c.want; got != want {
			t.Errorf("URL of %s is %s, want %s", c.host, got, want)
		}
	}
}

// TestOneFunctionGivesTheClusterAddress: hosts with two networks, SSH over one and the cluster
// over the other, use the cluster's alone, and their certificates hold it.
func TestOneFunctionGivesTheClusterAddress(t *testing.T) {
	v := plain()
	v.prefix, v.private = "198.51.100.", "192.0.2."
	for _, n := range nodes(t, v) {
		for p, f := range files(t, n) {
			if strings.Contains(string(f.Content), "198.51.100.") {
				t.Errorf("%s: %s uses an SSH address for the cluster's traffic", n.Host.Name, p)
			}
		}
		names := []string{pki.KubeletServing}
		if isControlPlane(n) {
			names = append(names, pki.EtcdServer, pki.EtcdPeer, pki.APIServer)
		}
		for _, name := range names {
			l, ok := n.Secrets.Leaf(n.Host.Name, name)
			if !ok || !slices.Contains(l.SANs(), n.Address()) {
				t.Errorf("%s: certificate %s lacks the cluster address %s, has %v", n.Host.Name, name, n.Address(), l.SANs())
			}
		}
	}
}

func TestPauseImageIsOneConstantEverywhere(t *testing.T) {
	for _, version := range release.Supported() {
		rel, err := release.For(version)
		if err != nil {
			t.Fatal(err)
		}
		bundled := binaries(rel)["pause-image"].Reference
		v := plain()
		v.version = version
		n := nodes(t, v)[0]
		config := string(files(t, n)["/etc/containerd/config.toml"].Content)
		if !strings.Contains(config, `sandbox = "`+bundled+`"`) {
			t.Errorf("%s: containerd's sandbox image is not the bundle's %s:\n%s", version, bundled, config)
		}
		images, err := containerd.Images(n, "pause-image")
		if err != nil {
			t.Fatal(err)
		}
		if got := images[1].Key().Name; got != bundled {
			t.Errorf("%s: imported as %s, the bundle's image is %s", version, got, bundled)
		}
	}
}

func TestManifestsUseImagesOfTheBundle(t *testing.T) {
	n := nodes(t, plain())[0]
	objects, err := coredns.Objects(n.Spec, 5)
	if err != nil {
		t.Fatal(err)
	}
	references := map[string]bool{}
	for _, b := range n.Binaries {
		references[b.Reference] = true
	}
	found := 0
	for _, o := range objects {
		text, err := o.(resource.Manifest).Object.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`"image":"([^"]+)"`).FindAllSubmatch(text, -1) {
			found++
			if !references[string(m[1])] {
				t.Errorf("%s uses %s, which is not in the bundle", o.Title(), m[1])
			}
		}
	}
	if found == 0 {
		t.Error("no image found in the manifests")
	}
}

func TestKubeletAndRuntimeUseTheSameCgroupDriver(t *testing.T) {
	for _, c := range []struct {
		facts            components.HostFacts
		driver, failOnV1 string
		runtime          string
	}{
		{components.HostFacts{CgroupV2: true, ResolvConf: "/r"}, "cgroupDriver: systemd\n", "failCgroupV1: true\n", "SystemdCgroup = true\n"},
		{components.HostFacts{CgroupV2: false, ResolvConf: "/r"}, "cgroupDriver: cgroupfs\n", "failCgroupV1: false\n", "SystemdCgroup = false\n"},
	} {
		v := plain()
		v.facts = c.facts
		for _, n := range nodes(t, v) {
			have := files(t, n)
			kubelet, runtime := string(have["/etc/kubernetes/kubelet-config.yaml"].Content), string(have["/etc/containerd/config.toml"].Content)
			for _, want := range []string{c.driver, c.failOnV1} {
				if !strings.Contains(kubelet, want) {
					t.Errorf("kubelet on cgroup v2=%v lacks %q", c.facts.CgroupV2, want)
				}
			}
			if !strings.Contains(runtime, c.runtime) {
				t.Errorf("containerd on cgroup v2=%v lacks %q", c.facts.CgroupV2, c.runtime)
			}
		}
	}
}

func TestEverySettingOfTheKernelSurvivesAReboot(t *testing.T) {
	for _, n := range nodes(t, ipv6()) {
		have := files(t, n)
		for _, s := range linux.Sysctls(n) {
			if !strings.Contains(string(have["/etc/sysctl.d/90-clusterctl.conf"].Content), s.Name+" = "+s.Value+"\n") {
				t.Errorf("%s is lost at the next boot", s.Name)
			}
		}
		for _, m := range linux.Modules(n) {
			if !strings.Contains(string(have["/etc/modules-load.d/clusterctl.conf"].Content), m+"\n") {
				t.Errorf("module %s is lost at the next boot", m)
			}
		}
	}
}

func TestProgramsOfDifferentVersionsNeverShareAPath(t *testing.T) {
	old := plain()
	old.version = "v1.36.3"
	shas := map[string]string{}
	for _, v := range []variant{plain(), old} {
		for _, r := range resources(t, nodes(t, v)[0]) {
			a, ok := r.(resource.Artifact)
			if !ok {
				continue
			}
			if sum, ok := shas[a.Path]; ok && sum != a.SHA256 {
				t.Errorf("%s is overwritten by another version", a.Path)
			}
			shas[a.Path] = a.SHA256
		}
	}
}

func TestMissingArtifactsAndCertificatesAreNamed(t *testing.T) {
	for _, n := range []components.Node{nodes(t, plain())[0], nodes(t, plain())[4]} {
		for _, c := range all(n) {
			empty := n
			empty.Binaries = nil
			if _, err := c.Resources(empty); c.Name() != "os" && (err == nil || !strings.Contains(err.Error(), "clusterctl bundle build")) {
				t.Errorf("%s without a bundle: error %v does not say how to build one", c.Name(), err)
			}
		}
	}
	n := nodes(t, plain())[0]
	n.Host.Name = "cp-9"
	if _, err := (kubernetes.Kubelet{}).Resources(n); err == nil || !strings.Contains(err.Error(), "cp-9") {
		t.Errorf("error %v does not name the host without a certificate", err)
	}
}
