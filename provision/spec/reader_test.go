package spec_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"clusterctl/provision/spec"

	"github.com/google/go-cmp/cmp"
)

func TestWrongTypesSayWhatWasExpected(t *testing.T) {
	pool := func(more string) string {
		return strings.Replace(local(""), "replicas: 1}]", "replicas: 1, "+more+"}]", 1)
	}
	replicas := func(text string) string {
		return strings.Replace(local(""), "controlPlane: {replicas: 1", "controlPlane: {replicas: "+text, 1)
	}
	check(t, cases{
		"quoted number":    {replicas(`"3"`), []string{`7: spec.controlPlane.replicas: expected a whole number, found the text "3"; write 3 without quotes`}},
		"hexadecimal":      {replicas("0x1"), []string{`7: spec.controlPlane.replicas: expected a whole number, found "0x1"`}},
		"octal":            {replicas("01"), []string{`7: spec.controlPlane.replicas: expected a whole number, found "01"`}},
		"fraction":         {replicas("1.0"), []string{`7: spec.controlPlane.replicas: expected a whole number, found "1.0"`}},
		"word":             {replicas("one"), []string{`7: spec.controlPlane.replicas: expected a whole number, found "one"`}},
		"list for number":  {replicas("[1]"), []string{"7: spec.controlPlane.replicas: expected a whole number, found a list"}},
		"tag":              {replicas("!!int 1"), []string{"7: spec.controlPlane.replicas: the explicit YAML tag !!int is not supported; write the plain value"}},
		"yes":              {strings.Replace(local(""), "replicas: 1}\n", "replicas: 1, schedulable: yes}\n", 1), []string{`7: spec.controlPlane.schedulable: expected true or false, found "yes"; write true`}},
		"text for list":    {local("  network: {upstreamDNS: 192.0.2.53}\n"), []string{`9: spec.network.upstreamDNS: expected a list, found "192.0.2.53"; write [192.0.2.53]`}},
		"mapping for list": {strings.Replace(local(""), "[{name: default, replicas: 1}]", "{name: default, replicas: 1}", 1), []string{"8: spec.workers: expected a list, found a mapping"}},
		"list for mapping": {local("  network: []\n"), []string{"9: spec.network: expected a mapping of fields, found a list"}},
		"list for text":    {local("  network: {cni: [flannel]}\n"), []string{"9: spec.network.cni: expected text, found a list"}},
		"list for labels":  {pool("labels: [a]"), []string{"8: spec.workers[0].labels: expected a mapping of names to text, found a list"}},
		"label is a list":  {pool("labels: {a: [b]}"), []string{"8: spec.workers[0].labels[a]: expected text, found a list"}},
		"label is null":    {pool("labels: {a: }"), []string{`8: spec.workers[0].labels[a]: has no value; write "" for an empty one`}},
		"empty entry":      {local("  network: {upstreamDNS: [~]}\n"), []string{"9: spec.network.upstreamDNS[0]: the list entry is empty; fill it in or remove it"}},
		"port too high":    {ssh("name: a, address: 192.0.2.1, port: 70000"), []string{"9: spec.controlPlane.hosts[0].port: must be at most 65535, got 70000"}},
		"document is text": {"hello\n", []string{`1: expected a mapping of fields, found "hello"`}},
		"document is list": {"- a\n", []string{"1: expected a mapping of fields, found a list"}},
		"key is a list":    {local("  network: {[a]: b}\n"), []string{"9: spec.network: expected a name before the colon, found a list"}},
		"null is unset":    {local("  network:\n  etcd: ~\n  pki: {algorithm: null}\n"), nil},
	})
}

func TestDuplicateKeysAreRefused(t *testing.T) {
	check(t, cases{
		"field": {local("  network: {cni: none}\n  network: {cni: flannel}\n"),
			[]string{"10: spec.network: is set twice, first on line 9; keep one of them"}},
		"label": {strings.Replace(local(""), "replicas: 1}]", "replicas: 1, labels: {a: b, 'a': c}}]", 1),
			[]string{"8: spec.workers[0].labels[a]: is set twice, first on line 8; keep one of them"}},
	})
}

func TestFileThatIsNoSpec(t *testing.T) {
	const empty = ": the file has no cluster spec in it; clusterctl spec init writes one to start from"
	check(t, cases{
		"empty":      {"", []string{"1" + empty}},
		"comment":    {"# nothing\n", []string{"1" + empty}},
		"separators": {"---\n---\n", []string{"2" + empty}},
		"not YAML":   {"a: [\n", []string{"1: this is not YAML: did not find expected node content"}},
		"tab":        {"a:\n\tb: c\n", []string{"2: this is not YAML: found character that cannot start any token"}},
		"too large":  {strings.Repeat("#", spec.MaxSize+1), []string{fmt.Sprintf("1: the file is larger than %d bytes", spec.MaxSize)}},
	})
}

func TestAliasesAndMergeKeys(t *testing.T) {
	check(t, cases{
		"alias":           {ssh("name: a, address: 192.0.2.1, bastion: &b {address: 203.0.113.1}", "name: b, address: 192.0.2.2, bastion: *b", "name: c, address: 192.0.2.3"), nil},
		"merge":           {ssh("&a name: a, address: 192.0.2.1") + "  workers: [{name: w, hosts: [&h {name: x, address: 192.0.2.7, user: ops}, {<<: *h, name: y, address: 192.0.2.8}]}]\n", nil},
		"merge of a list": {ssh("name: a, address: 192.0.2.1") + "  workers: [{name: w, hosts: [&h {name: x, address: 192.0.2.7}, {<<: [*h, *h], name: y, address: 192.0.2.8}]}]\n", nil},
		"merge of text": {local("  network: {<<: text}\n"),
			[]string{`9: spec.network: a merge key (<<) takes a mapping, found "text"`}},
		"alias contains itself": {local("  network: &n {upstreamDNS: &l [*l]}\n"),
			[]string{"9: spec.network.upstreamDNS[0]: the anchor &l contains itself"}},
		"merge of itself": {local("  network: &n {<<: *n}\n"), []string{"9: spec.network: the anchor &n contains itself"}},
		"unknown anchor":  {local("  network: *n\n"), []string{"9: this is not YAML: unknown anchor 'n' referenced"}},
	})
	c, err := spec.Parse("f", []byte(ssh("name: a, address: 192.0.2.1")+"  workers: [{name: w, hosts: [&h {name: x, address: 192.0.2.7, user: ops}, {<<: *h, name: y, address: 192.0.2.8}]}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Spec.Workers[0].Hosts[1]; got.Name != "y" || got.Address != "192.0.2.8" || got.User != "ops" {
		t.Errorf("merged host: %+v", got)
	}
}

func TestAliasesCannotMultiplyWithoutEnd(t *testing.T) {
	var b strings.Builder
	b.WriteString("metadata: {name: x}\nspec:\n  workers:\n")
	b.WriteString("  - &a0 {hosts: [{name: x}, {name: x}, {name: x}, {name: x}, {name: x}, {name: x}, {name: x}, {name: x}]}\n")
	b.WriteString("  - {hosts: &l0 [{labels: &m {")
	for i := range 1000 {
		fmt.Fprintf(&b, "k%d: v, ", i)
	}
	b.WriteString("}}")
	for range 5000 {
		b.WriteString(", {labels: *m}")
	}
	b.WriteString("]}\n")
	start := time.Now()
	problems := problemsOf(t, b.String())
	if got := strings.Join(problems, "\n"); !strings.Contains(got, "aliases make more than 200000 values of this file; write the values out") {
		t.Errorf("not refused: %d problems", len(problems))
	}
	if d := time.Since(start); d > 20*time.Second {
		t.Errorf("took %v", d)
	}
}

func TestErrorIsOneLinePerProblem(t *testing.T) {
	_, err := spec.Parse("dir/dev.yaml", []byte(strings.Replace(local("  network: {cnii: none}\n"), "v1.37.2", "1.30", 1)))
	want := "dir/dev.yaml:5: spec.kubernetes.version: need x.y.z, got 1.30\n" +
		"dir/dev.yaml:9: spec.network.cnii: unknown field; did you mean cni?"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestDefaults(t *testing.T) {
	c, err := spec.Parse("f", []byte(local("")))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(spec.Network{PodCIDR: "10.244.0.0/16", ServiceCIDR: "10.96.0.0/16", NodeMask: 24,
		CNI: "flannel", KubeProxy: "nftables", ClusterDomain: "cluster.local"}, c.Spec.Network); diff != "" {
		t.Error(diff)
	}
	if k := c.Spec.Kubernetes; k.PodSecurity != "baseline" || k.Encryption != "secretbox" {
		t.Errorf("kubernetes: %+v", k)
	}
	if c.Spec.Etcd.Quota != "8Gi" || c.EtcdQuota() != 8<<30 || c.Spec.PKI.Algorithm != "ecdsa" || c.Spec.Host.Swap != "disable" {
		t.Errorf("etcd %+v, pki %+v, host %+v", c.Spec.Etcd, c.Spec.PKI, c.Spec.Host)
	}
	if *c.Spec.ControlPlane.Schedulable || c.Spec.ControlPlane.Endpoint != "" {
		t.Errorf("control plane: %+v", c.Spec.ControlPlane)
	}
	if got := c.Spec.Provider.Local.Subnet; got != "10.89.188.0/24" {
		t.Errorf("subnet %s", got)
	}
	if c.Path != "f" || len(c.Hash) != 64 {
		t.Errorf("path %q, hash %q", c.Path, c.Hash)
	}
	alone, err := spec.Parse("f", []byte(strings.Replace(local(""), "replicas: 1}]", "replicas: 0}]", 1)))
	if err != nil {
		t.Fatal(err)
	}
	if !*alone.Spec.ControlPlane.Schedulable {
		t.Error("without workers, control planes must be schedulable")
	}
}

func TestDefaultSubnetStepsAwayFromOtherRanges(t *testing.T) {
	for pods, want := range map[string]string{
		"10.89.188.0/24": "10.89.189.0/24",
		"10.89.189.0/23": "10.89.189.0/24", // host bits: reported, not followed
		"10.89.128.0/17": "10.89.0.0/24",
	} {
		text := local("  network: {podCIDR: " + pods + ", nodeMask: 26}\n")
		c, err := spec.Parse("f", []byte(text))
		if err != nil {
			if pods != "10.89.189.0/23" {
				t.Errorf("%s: %v", pods, err)
			}
			continue
		}
		if got := c.Spec.Provider.Local.Subnet; got != want {
			t.Errorf("%s: subnet %s, want %s", pods, got, want)
		}
	}
	got := problemsOf(t, local("  network: {podCIDR: 10.89.0.0/16}\n"))
	want := []string{"9: spec.network.podCIDR: 10.89.0.0/16 overlaps 10.89.188.0/24 of spec.provider.local.subnet (the default); choose ranges that are apart"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestHostsInheritSSHSettings(t *testing.T) {
	text := strings.Replace(ssh("name: a, address: 192.0.2.1", "name: b, address: 192.0.2.2, user: other, port: 2222, bastion: {address: B.example.com}", "name: c, address: 192.0.2.3"),
		"ssh: {}", "ssh: {user: ops, keyPath: '~/keys/my key.pem', sudoPassword: true, bastion: {address: 203.0.113.1, user: jump}}", 1)
	c, err := spec.Parse("f", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	hosts := c.Spec.ControlPlane.Hosts
	const key = "~/keys/my key.pem"
	for i, want := range []spec.SSHSettings{
		{User: "ops", KeyPath: key, SudoPassword: true, Bastion: &spec.Bastion{Address: "203.0.113.1", User: "jump", KeyPath: key}},
		{User: "other", Port: 2222, KeyPath: key, SudoPassword: true, Bastion: &spec.Bastion{Address: "b.example.com", User: "other", KeyPath: key}},
	} {
		if diff := cmp.Diff(want, hosts[i].SSHSettings); diff != "" {
			t.Errorf("host %d: %s", i, diff)
		}
	}
	if hosts[0].Bastion == hosts[2].Bastion {
		t.Error("hosts share one bastion value")
	}
}

func TestServiceAddresses(t *testing.T) {
	for services, want := range map[string][2]string{
		"10.96.0.0/16":     {"10.96.0.1", "10.96.0.10"},
		"172.16.0.240/28":  {"172.16.0.241", "172.16.0.250"},
		"10.0.3.0/16":      {"10.0.0.1", "10.0.0.10"},
		"2001:db8:3::/108": {"2001:db8:3::1", "2001:db8:3::a"},
	} {
		c := &spec.Cluster{Spec: spec.Spec{Network: spec.Network{ServiceCIDR: services}}}
		if got := [2]string{c.APIServiceAddress().String(), c.DNSAddress().String()}; got != want {
			t.Errorf("%s: %v, want %v", services, got, want)
		}
		if got := c.IsIPv6(); got != strings.Contains(services, ":") {
			t.Errorf("%s: IsIPv6 %v", services, got)
		}
	}
}

func TestClusterAddressIsPrivateAddressFirst(t *testing.T) {
	for want, h := range map[string]spec.Host{
		"192.0.2.1":    {Address: "198.51.100.1", PrivateAddress: "192.0.2.1"},
		"198.51.100.1": {Address: "198.51.100.1"},
		"invalid IP":   {Address: "a.example.com"},
	} {
		if got := h.ClusterAddress().String(); got != want {
			t.Errorf("%+v: %s, want %s", h, got, want)
		}
	}
}

func TestParseIsDeterministic(t *testing.T) {
	text := []byte(local("  network: {a: 1, b: 2}\n  kuberntes: {}\n"))
	_, first := spec.Parse("f", text)
	for range 20 {
		if _, again := spec.Parse("f", text); again.Error() != first.Error() {
			t.Fatalf("%v\n%v", first, again)
		}
	}
}

func TestLoadReadsTheFile(t *testing.T) {
	dir := t.TempDir()
	if _, err := spec.Load(filepath.Join(dir, "none.yaml")); !os.IsNotExist(errUnwrap(err)) {
		t.Errorf("missing file: %v", err)
	}
	path := filepath.Join(dir, "dev.yaml")
	if err := os.WriteFile(path, []byte(local("")), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := spec.Load(path)
	if err != nil || c.Path != path {
		t.Errorf("%v, path %q", err, c.Path)
	}
}

func errUnwrap(err error) error {
	if u, ok := err.(interface{ Unwrap() error }); ok {
		return u.Unwrap()
	}
	return err
}

// thousand is a spec of 1,000 SSH hosts.
func thousand() []byte {
	var b strings.Builder
	b.WriteString(ssh("name: cp-1, address: 192.0.2.1", "name: cp-2, address: 192.0.2.2", "name: cp-3, address: 192.0.2.3"))
	b.WriteString("  network: {podCIDR: 10.128.0.0/10}\n  workers:\n  - name: big\n    hosts:\n")
	for i := range 997 {
		fmt.Fprintf(&b, "    - name: worker-%04d\n      address: 198.18.%d.%d\n      labels:\n        example.com/rack: r%d\n", i, i/250, i%250+1, i/40)
	}
	return []byte(b.String())
}

func TestThousandHostsLoadFast(t *testing.T) {
	text := thousand()
	start := time.Now()
	if _, err := spec.Parse("f", text); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(start); d > 500*time.Millisecond {
		t.Errorf("took %v, want less than 0.5 s", d)
	}
	// All hosts wrong must not be slower by an order.
	start = time.Now()
	got := problemsOf(t, strings.ReplaceAll(string(text), "198.18.", "10.130."))
	if d := time.Since(start); len(got) != 997 || d > time.Second {
		t.Errorf("%d problems in %v", len(got), d)
	}
}

func BenchmarkParseThousandHosts(b *testing.B) {
	text := thousand()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := spec.Parse("f", text); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, kind := range spec.ExampleKinds() {
		f.Add(spec.Example(kind))
	}
	f.Add([]byte(ssh("name: Node-A, address: '2001:DB8:0::10', <<: *x")))
	f.Add([]byte("a: &a [*a]\n---\nb"))
	f.Add([]byte("? [a]\n: !!binary x\n<<: {a: ~}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := spec.Parse("f", data)
		if err == nil {
			if c.Spec.Kubernetes.Version == "" || c.Metadata.Name == "" || !c.DNSAddress().IsValid() {
				t.Fatalf("accepted without what is required: %+v", c)
			}
			return
		}
		e, ok := err.(*spec.Error)
		if !ok || len(e.Problems) == 0 {
			t.Fatalf("error %T without problems: %v", err, err)
		}
	})
}
