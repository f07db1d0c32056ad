package spec_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"clusterctl/provision/spec"

	"github.com/google/go-cmp/cmp"
)

// local is a spec with more below spec: on line 9 and on.
func local(more string) string {
	return `apiVersion: clusterctl/v1alpha1
kind: Cluster
metadata: {name: dev}
spec:
  kubernetes: {version: v1.37.2}
  provider: {local: {}}
  controlPlane: {replicas: 1}
  workers: [{name: default, replicas: 1}]
` + more
}

// ssh is a spec with one host per line below hosts:, from line 9 on, each a flow mapping.
func ssh(hosts ...string) string {
	text := `apiVersion: clusterctl/v1alpha1
kind: Cluster
metadata: {name: dev}
spec:
  kubernetes: {version: v1.37.2}
  provider: {ssh: {}}
  controlPlane:
    hosts:
`
	for _, h := range hosts {
		text += "    - {" + h + "}\n"
	}
	return text
}

// problemsOf parses text and gives the error's lines without the file's name.
func problemsOf(t *testing.T, text string) []string {
	t.Helper()
	_, err := spec.Parse("f", []byte(text))
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*spec.Error](err)
	if !ok {
		t.Fatalf("error is a %T: %v", err, err)
	}
	var out []string
	for _, p := range e.Problems {
		out = append(out, fmt.Sprintf("%d: %s", p.Line, p))
	}
	return out
}

// check parses each text and compares the problems; none wanted means the text must be accepted.
func check(t *testing.T, tests map[string]struct {
	text string
	want []string
}) {
	t.Helper()
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, problemsOf(t, tt.text)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

type cases = map[string]struct {
	text string
	want []string
}

// Case 1.
func TestVersionIsReadAsLiteralText(t *testing.T) {
	with := func(v string) string { return strings.Replace(local(""), "v1.37.2", v, 1) }
	check(t, cases{
		"two parts":        {with("1.30"), []string{"5: spec.kubernetes.version: need x.y.z, got 1.30"}},
		"another number":   {with("1.3"), []string{"5: spec.kubernetes.version: need x.y.z, got 1.3"}},
		"hexadecimal":      {with("0x10"), []string{"5: spec.kubernetes.version: need x.y.z, got 0x10"}},
		"a date":           {with("2024-01-02"), []string{"5: spec.kubernetes.version: need x.y.z, got 2024-01-02"}},
		"yes":              {with("yes"), []string{"5: spec.kubernetes.version: need x.y.z, got yes"}},
		"an exponent":      {with("1e3"), []string{"5: spec.kubernetes.version: need x.y.z, got 1e3"}},
		"leading zero":     {with("1.030.1"), []string{"5: spec.kubernetes.version: need x.y.z, got 1.030.1"}},
		"build metadata":   {with("1.30.4+k3s1"), []string{"5: spec.kubernetes.version: need x.y.z, got 1.30.4+k3s1"}},
		"null":             {with("null"), []string{"5: spec.kubernetes.version: is required"}},
		"empty":            {with(`""`), []string{"5: spec.kubernetes.version: is required"}},
		"pre-release":      {with("v1.38.0-rc.1"), nil},
		"quoted, complete": {with(`"1.30.4"`), nil},
	})
	for _, v := range []string{"1.30.4", `"1.30.4"`, "v1.30.4"} {
		c, err := spec.Parse("f", []byte(with(v)))
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Spec.Kubernetes.Version; got != "v1.30.4" {
			t.Errorf("%s: version %q", v, got)
		}
	}
}

// Case 2.
func TestUnknownFieldsAreRefusedWithSuggestion(t *testing.T) {
	check(t, cases{
		"misspelled": {local("  network: {serviceCIRD: 10.90.0.0/16}\n"),
			[]string{"9: spec.network.serviceCIRD: unknown field; did you mean serviceCIDR?"}},
		"wrong case": {local("  network: {podCidr: 10.90.0.0/16}\n"),
			[]string{"9: spec.network.podCidr: unknown field; did you mean podCIDR?"}},
		"one level too deep": {ssh("name: a, address: 192.0.2.1, serviceCIDR: 10.90.0.0/16"),
			[]string{"9: spec.controlPlane.hosts[0].serviceCIDR: unknown field; did you mean serviceCIDR of spec.network?"}},
		"one level too high": {local("etcd: {}\n"), []string{"9: etcd: unknown field; did you mean etcd of spec?"}},
		"misspelled and misplaced": {local("  podCIRD: 10.90.0.0/16\n"),
			[]string{"9: spec.podCIRD: unknown field; did you mean podCIDR of spec.network?"}},
		"nothing near": {local("  network: {zzzzzzzz: 1}\n"),
			[]string{"9: spec.network.zzzzzzzz: unknown field; known here: podCIDR, serviceCIDR, nodeMask, cni, kubeProxy, clusterDomain, upstreamDNS"}},
		"second document": {local("---\nkind: Cluster\n"),
			[]string{"10: a second YAML document starts here, a spec file has one; put each cluster in its own file"}},
		"separator at the end": {local("---\n"), nil},
		"newer format": {strings.Replace(local(""), "v1alpha1", "v1beta2", 1),
			[]string{`1: apiVersion: must be clusterctl/v1alpha1, got "clusterctl/v1beta2"; this clusterctl reads clusterctl/v1alpha1 only, another format needs another clusterctl`}},
		"field of a newer format": {strings.Replace(local("  mesh: {}\n"), "v1alpha1", "v1beta2", 1),
			[]string{`1: apiVersion: must be clusterctl/v1alpha1, got "clusterctl/v1beta2"; this clusterctl reads clusterctl/v1alpha1 only, another format needs another clusterctl`,
				"9: spec.mesh: unknown field; it may be known from clusterctl/v1beta2"}},
		"all at once, by line": {"kind: Cluster\nmetadata: {name: d_v, nam: x}\nspec:\n  kubernetes: {version: 1.30}\n  controlPlane: {replicas: 2}\n", []string{
			"1: apiVersion: is required; write apiVersion: clusterctl/v1alpha1",
			`2: metadata.name: must be letters, digits and - (a DNS label), got "d_v"; write d-v`,
			"2: metadata.nam: unknown field; did you mean name?",
			"4: spec.provider: is required",
			"4: spec.kubernetes.version: need x.y.z, got 1.30",
			"5: spec.controlPlane.replicas: must be 1, 3 or 5, got 2",
		}},
	})
}

// Case 3.
func TestAddressRanges(t *testing.T) {
	const apart = "; choose ranges that are apart"
	const ula = "  network: {podCIDR: '2001:db8:1::/64', serviceCIDR: '2001:db8:1::/112'}\n"
	nine := func() (hosts []string) {
		for i := range 5 {
			hosts = append(hosts, fmt.Sprintf("name: cp-%d, address: 192.0.2.%d", i, 10+i))
		}
		return hosts
	}()
	workers := "  workers:\n  - {name: w, hosts: [{name: a, address: 192.0.2.1}, {name: b, address: 192.0.2.2}, {name: c, address: 192.0.2.3}, {name: d, address: 192.0.2.4}]}\n"
	check(t, cases{
		"pod range is the default service range": {local("  network: {podCIDR: 10.96.0.0/16}\n"),
			[]string{"9: spec.network.podCIDR: 10.96.0.0/16 overlaps 10.96.0.0/16 of spec.network.serviceCIDR (the default)" + apart}},
		"pod range contains the default service range": {local("  network: {podCIDR: 10.0.0.0/10, nodeMask: 24}\n"), nil},
		"service range in pod range": {local("  network: {podCIDR: 10.0.0.0/12, serviceCIDR: 10.1.0.0/16}\n"),
			[]string{"9: spec.network.serviceCIDR: 10.1.0.0/16 overlaps 10.0.0.0/12 of spec.network.podCIDR on line 9" + apart}},
		"pod range in service range": {local("  network: {podCIDR: 10.1.0.0/16, serviceCIDR: 10.0.0.0/12}\n"),
			[]string{"9: spec.network.serviceCIDR: 10.0.0.0/12 overlaps 10.1.0.0/16 of spec.network.podCIDR on line 9" + apart}},
		"IPv6 service range in pod range": {ssh("name: a, address: '2001:db8:2::1'") + ula,
			[]string{"10: spec.network.serviceCIDR: 2001:db8:1::/112 overlaps 2001:db8:1::/64 of spec.network.podCIDR on line 10" + apart}},
		"host in the default pod range": {ssh("name: a, address: 10.244.7.9"),
			[]string{"9: spec.controlPlane.hosts[0].address: 10.244.7.9 is inside 10.244.0.0/16 of spec.network.podCIDR (the default); addresses of hosts must be outside"}},
		"private address in the service range": {ssh("name: a, address: 192.0.2.1, privateAddress: 10.96.0.7"),
			[]string{"9: spec.controlPlane.hosts[0].privateAddress: 10.96.0.7 is inside 10.96.0.0/16 of spec.network.serviceCIDR (the default); addresses of hosts must be outside"}},
		"endpoint among local hosts": {strings.Replace(strings.Replace(local(""), "replicas: 1}\n", "replicas: 1, endpoint: 10.90.0.250}\n", 1), "local: {}", "local: {subnet: 10.90.0.0/24}", 1), nil},
		"endpoint in the pod range": {strings.Replace(local(""), "replicas: 1}", "replicas: 1, endpoint: 10.244.0.1}", 1),
			[]string{"7: spec.controlPlane.endpoint: 10.244.0.1 is inside 10.244.0.0/16 of spec.network.podCIDR (the default); addresses of hosts must be outside"}},
		"bastion in the pod range": {strings.Replace(ssh("name: a, address: 192.0.2.1"), "ssh: {}", "ssh: {bastion: {address: 10.244.0.1}}", 1),
			[]string{"6: spec.provider.ssh.bastion.address: 10.244.0.1 is inside 10.244.0.0/16 of spec.network.podCIDR (the default); addresses of hosts must be outside"}},
		"subnet of local hosts in the pod range": {strings.Replace(local(""), "local: {}", "local: {subnet: 10.244.3.0/24}", 1),
			[]string{"6: spec.provider.local.subnet: 10.244.3.0/24 overlaps 10.244.0.0/16 of spec.network.podCIDR (the default)" + apart}},
		"host bits": {local("  network: {serviceCIDR: 10.0.3.0/16}\n"),
			[]string{"9: spec.network.serviceCIDR: 10.0.3.0/16 has bits set behind the prefix; write 10.0.0.0/16"}},
		"more hosts than node blocks": {ssh(nine...) + workers + "  network: {podCIDR: 172.16.0.0/21, nodeMask: 24}\n",
			[]string{"16: spec.network.podCIDR: 172.16.0.0/21 with nodeMask 24 has 8 node blocks, 9 hosts; use a larger podCIDR or a longer nodeMask"}},
		"service range too large": {local("  network: {serviceCIDR: 172.16.0.0/11}\n"),
			[]string{"9: spec.network.serviceCIDR: 172.0.0.0/11 is larger than kube-apiserver allows: need /12 or longer",
				"9: spec.network.serviceCIDR: 172.16.0.0/11 has bits set behind the prefix; write 172.0.0.0/11"}},
		"largest service range": {local("  network: {serviceCIDR: 172.16.0.0/12}\n"), nil},
		"service range without DNS address": {local("  network: {serviceCIDR: 172.16.0.0/29}\n"),
			[]string{"9: spec.network.serviceCIDR: 172.16.0.0/29 is too small, cluster DNS has its 10th address: need /28 or shorter"}},
		"IPv6 service range too large": {ssh("name: a, address: '2001:db8:2::1'") + "  network: {podCIDR: '2001:db8:1::/56', serviceCIDR: '2001:db8:3::/107'}\n",
			[]string{"10: spec.network.serviceCIDR: 2001:db8:3::/107 is larger than kube-apiserver allows: need /108 or longer"}},
		"IPv6": {ssh("name: a, address: '2001:db8:2::1'") + "  network: {podCIDR: '2001:db8:1::/56', serviceCIDR: '2001:db8:3::/108'}\n", nil},
		"two families in one field": {local("  network: {podCIDR: '10.1.0.0/16,2001:db8::/56'}\n"),
			[]string{`9: spec.network.podCIDR: need one address range, got "10.1.0.0/16,2001:db8::/56": two address families at a time are not supported; keep one of them`}},
		"two families in two fields": {ssh("name: a, address: 192.0.2.1") + "  network: {podCIDR: 10.1.0.0/16, serviceCIDR: '2001:db8::/112'}\n",
			[]string{"10: spec.network.serviceCIDR: 2001:db8::/112 and 10.1.0.0/16 of spec.network.podCIDR on line 10 are of different address families; use one family for pods, services and hosts"}},
		"not a range": {local("  network: {podCIDR: 10.1.0.0}\n"),
			[]string{`9: spec.network.podCIDR: need an address range such as 10.244.0.0/16, got "10.1.0.0"; add the length of the prefix, such as 10.1.0.0/16`}},
		"zone": {local("  network: {podCIDR: 'fe80::%eth0/64'}\n"),
			[]string{`9: spec.network.podCIDR: need an address range such as 10.244.0.0/16, got "fe80::%eth0/64"`}},
		"node mask larger than the pod range": {local("  network: {nodeMask: 15}\n"),
			[]string{"9: spec.network.nodeMask: a node's /15 is larger than the pod range 10.244.0.0/16"}},
		"node mask far from the pod range": {local("  network: {podCIDR: 10.0.0.0/10, nodeMask: 27}\n"),
			[]string{"9: spec.network.nodeMask: kube-controller-manager allows at most 16 bits between the pod range 10.0.0.0/10 and nodeMask 27; use at most 26"}},
		"subnet too small": {strings.Replace(local(""), "local: {}", "local: {subnet: 10.90.0.0/30}", 1),
			[]string{"6: spec.provider.local.subnet: 10.90.0.0/30 has 4 addresses, need 5 for 2 hosts and the bridge; use a shorter prefix"}},
	})
}

// Case 4.
func TestEndpointSpellings(t *testing.T) {
	for text, want := range map[string]string{
		"2001:db8::100":          "[2001:db8::100]:6443",
		"'[2001:db8::100]:6443'": "[2001:db8::100]:6443",
		"'[2001:db8::100]:443'":  "[2001:db8::100]:443",
		"'[2001:db8::100]'":      "[2001:db8::100]:6443",
		"2001:db8::6443":         "[2001:db8::6443]:6443",
		"2001:DB8:0::10":         "[2001:db8::10]:6443",
		"192.0.2.100":            "192.0.2.100:6443",
		"192.0.2.100:443":        "192.0.2.100:443",
		"K8s.example.com":        "k8s.example.com:6443",
		"k8s.example.com:443":    "k8s.example.com:443",
	} {
		c, err := spec.Parse("f", []byte(ssh("name: a, address: 192.0.2.1")+"    endpoint: "+text+"\n"))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := c.Spec.ControlPlane.Endpoint; got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	const hint = "; write a host name or IP address, with :port when it is not 6443"
	with := func(e string) string { return ssh("name: a, address: 192.0.2.1") + "    endpoint: " + e + "\n" }
	check(t, cases{
		"a URL":        {with("https://k8s.example.com"), []string{"10: spec.controlPlane.endpoint: need host or host:port without a scheme, got https://k8s.example.com" + hint}},
		"a zone":       {with("fe80::1%eth0"), []string{"10: spec.controlPlane.endpoint: the IPv6 zone %eth0 means nothing on other hosts: give an address without zone" + hint}},
		"port 0":       {with("k8s.example.com:0"), []string{`10: spec.controlPlane.endpoint: need a port between 1 and 65535, got "0"` + hint}},
		"bad IPv4":     {with("192.0.2.300"), []string{`10: spec.controlPlane.endpoint: need a host name or an IP address, got "192.0.2.300"` + hint}},
		"IPv4 bracket": {with("'[192.0.2.3]:6443'"), []string{"10: spec.controlPlane.endpoint: need an IPv6 address in the brackets, got [192.0.2.3]:6443" + hint}},
	})
}

// Case 5.
func TestWhichHostsAreTheSameHost(t *testing.T) {
	const cp1, cp3 = "name: cp-1, address: 192.0.2.1", "name: cp-3, address: 192.0.2.3"
	check(t, cases{
		"same private address": {ssh("name: a, address: 192.0.2.1, privateAddress: 198.51.100.1", "name: b, address: 192.0.2.2, privateAddress: 198.51.100.1", cp3),
			[]string{"10: spec.controlPlane.hosts[1].privateAddress: the cluster address 198.51.100.1 is used twice, also by spec.controlPlane.hosts[0].privateAddress on line 9"}},
		"private addresses empty": {ssh("name: a, address: 192.0.2.1, privateAddress: ''", "name: b, address: 192.0.2.2, privateAddress: ''", cp3), nil},
		"same SSH address, other port": {ssh("name: a, address: 203.0.113.1, port: 2201, privateAddress: 192.0.2.1",
			"name: b, address: 203.0.113.1, port: 2202, privateAddress: 192.0.2.2", cp3), nil},
		"same SSH address, other bastion": {ssh("name: a, address: 10.0.0.1, privateAddress: 192.0.2.1, bastion: {address: 203.0.113.1}",
			"name: b, address: 10.0.0.1, privateAddress: 192.0.2.2, bastion: {address: 203.0.113.2}", cp3), nil},
		"same SSH address and port": {ssh("name: a, address: 203.0.113.1, privateAddress: 192.0.2.1", "name: b, address: 203.0.113.1, privateAddress: 192.0.2.2", cp3),
			[]string{"10: spec.controlPlane.hosts[1].address: the SSH address 203.0.113.1:22 is used twice, also by spec.controlPlane.hosts[0].address on line 9"}},
		"same IPv6 address by value": {ssh("name: a, address: '2001:db8::10'", "name: b, address: '2001:DB8:0::10'", "name: c, address: '2001:db8::12'") +
			"  network: {podCIDR: '2001:db8:1::/56', serviceCIDR: '2001:db8:3::/108'}\n",
			[]string{"10: spec.controlPlane.hosts[1].address: the SSH address [2001:db8::10]:22 is used twice, also by spec.controlPlane.hosts[0].address on line 9",
				"10: spec.controlPlane.hosts[1].address: the cluster address 2001:db8::10 is used twice, also by spec.controlPlane.hosts[0].address on line 9"}},
		"same name, control plane and worker": {ssh(cp1) + "  workers: [{name: w, hosts: [{name: cp-1, address: 192.0.2.7}]}]\n",
			[]string{"10: spec.workers[0].hosts[0].name: the host name cp-1 is used twice, also by spec.controlPlane.hosts[0].name on line 9"}},
		"same name but for case": {ssh("name: Node-A, address: 192.0.2.1", "name: node-a, address: 192.0.2.2", cp3),
			[]string{"10: spec.controlPlane.hosts[1].name: the host name node-a is used twice, also by spec.controlPlane.hosts[0].name on line 9"}},
		"underscore": {ssh("name: node_a, address: 192.0.2.1"),
			[]string{`9: spec.controlPlane.hosts[0].name: must be letters, digits and - (a DNS label), got "node_a"; write node-a`}},
		"pool twice": {local("")[:0] + strings.Replace(local(""), "replicas: 1}]", "replicas: 1}, {name: Default, replicas: 1}]", 1),
			[]string{"8: spec.workers[1].name: the pool name default is used twice, also by spec.workers[0].name on line 8"}},
		"local host name too long": {strings.Replace(local(""), "name: dev", "name: "+strings.Repeat("c", 53), 1),
			[]string{"8: spec.workers[0].name: makes host names such as " + strings.Repeat("c", 53) + "-default-99 of 64 characters, at most 63 are allowed; shorten the name of the cluster or pool"}},
		"longest local host name": {strings.Replace(local(""), "name: dev", "name: "+strings.Repeat("c", 52), 1), nil},
		"cluster name of a cloud that would fail later": {strings.Replace(local(""), "name: dev", "name: Prod_EU-with-a-very-long-descriptive-name-for-the-payments-team", 1),
			[]string{"3: metadata.name: makes host names such as prod_eu-with-a-very-long-descriptive-name-for-the-payments-team-cp-99 of 69 characters, at most 63 are allowed; shorten the name of the cluster or pool",
				`3: metadata.name: must be letters, digits and - (a DNS label), got "prod_eu-with-a-very-long-descriptive-name-for-the-payments-team"; write prod-eu-with-a-very-long-descriptive-name-for-the-payments-team`,
				"8: spec.workers[0].name: makes host names such as prod_eu-with-a-very-long-descriptive-name-for-the-payments-team-default-99 of 74 characters, at most 63 are allowed; shorten the name of the cluster or pool"}},
		"pool named like control planes": {strings.Replace(local(""), "name: default", "name: cp", 1),
			[]string{"8: spec.workers[0].name: the name cp is that of the control planes; choose another name"}},
		"port in the address": {ssh("name: a, address: '192.0.2.1:2201'"),
			[]string{`9: spec.controlPlane.hosts[0].address: need a host name or an IP address, got "192.0.2.1:2201"; write 192.0.2.1 here and port: 2201`}},
		"zone": {ssh("name: a, address: 'fe80::1%eth0'"),
			[]string{"9: spec.controlPlane.hosts[0].address: the IPv6 zone %eth0 means nothing on other hosts: give an address without zone"}},
		"loopback": {ssh("name: a, address: 127.0.0.1"),
			[]string{"9: spec.controlPlane.hosts[0].address: other hosts cannot reach 127.0.0.1, and it is the host's cluster address; set privateAddress to one that they reach"}},
		"DNS name": {ssh("name: a, address: a.example.com"), nil},
	})
	c, err := spec.Parse("f", []byte(ssh("name: Node-A, address: 192.0.2.1")))
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Spec.ControlPlane.Hosts[0].Name; got != "node-a" {
		t.Errorf("name %q, want node-a", got)
	}
}

// Case 6.
func TestArguments(t *testing.T) {
	with := func(component, args string) string {
		return strings.Replace(local(""), "v1.37.2", "v1.37.2, "+component+": {"+args+"}", 1)
	}
	check(t, cases{
		"hostile values": {with("kubeletArgs", `eviction-hard: "memory.available<1Gi,nodefs.available<5%", node-labels: note=a_b`), nil},
		"owned": {with("apiServerArgs", "secure-port: 6444"),
			[]string{"5: spec.kubernetes.apiServerArgs[secure-port]: clusterctl sets this argument of kube-apiserver itself"}},
		"owned by a field": {with("controllerManagerArgs", "cluster-cidr: 10.0.0.0/8"),
			[]string{"5: spec.kubernetes.controllerManagerArgs[cluster-cidr]: clusterctl sets this argument of kube-controller-manager itself; set spec.network.podCIDR"}},
		"owned by pattern": {with("apiServerArgs", "requestheader-allowed-names: x"),
			[]string{"5: spec.kubernetes.apiServerArgs[requestheader-allowed-names]: clusterctl sets this argument of kube-apiserver itself"}},
		"owned, with dashes": {with("kubeletArgs", "--node-ip: 192.0.2.1"),
			[]string{"5: spec.kubernetes.kubeletArgs[--node-ip]: clusterctl sets this argument of kubelet itself",
				"5: spec.kubernetes.kubeletArgs[--node-ip]: write arguments without leading dashes; write node-ip"}},
		"owned, with underscore": {with("schedulerArgs", "leader_elect: false"),
			[]string{"5: spec.kubernetes.schedulerArgs[leader_elect]: clusterctl sets this argument of kube-scheduler itself",
				"5: spec.kubernetes.schedulerArgs[leader_elect]: write arguments with - instead of _; write leader-elect"}},
		"no name": {with("kubeProxyArgs", "'a b': 1"),
			[]string{`5: spec.kubernetes.kubeProxyArgs[a b]: need the name of an argument of kube-proxy, got "a b"`}},
		"name and value in one": {with("apiServerArgs", "'v=4': ''"),
			[]string{"5: spec.kubernetes.apiServerArgs[v=4]: an argument's name has no =; write name: value"}},
		"label of Kubernetes": {with("kubeletArgs", "node-labels: 'a=b,node-role.kubernetes.io/x='"),
			[]string{"5: spec.kubernetes.kubeletArgs[node-labels]: the label node-role.kubernetes.io/x is in a domain of Kubernetes; set it in the labels of the pool or host"}},
		"NodeRestriction lost": {with("apiServerArgs", "enable-admission-plugins: AlwaysPullImages"),
			[]string{"5: spec.kubernetes.apiServerArgs[enable-admission-plugins]: NodeRestriction must be among the plugins: without it any node may change all others; write NodeRestriction,AlwaysPullImages"}},
		"NodeRestriction off": {with("apiServerArgs", "disable-admission-plugins: NodeRestriction"),
			[]string{"5: spec.kubernetes.apiServerArgs[disable-admission-plugins]: NodeRestriction must stay on: without it any node may change all others"}},
		"upgrade policy": {local("  upgradePolicy: {maxUnavailable: 0%, drainTimeout: soon}\n"),
			[]string{`9: spec.upgradePolicy.maxUnavailable: need a number or a percentage such as 2 or 10%, got "0%"`,
				`9: spec.upgradePolicy.drainTimeout: need a time from 1s to 24h such as 5m, got "soon"`}},
		"etcd": {local("  etcd: {args: {data-dir: /x, snapshot-count: 5000}, quota: 8}\n"),
			[]string{"9: spec.etcd.args[data-dir]: clusterctl sets this argument of etcd itself",
				"9: spec.etcd.quota: 8 are 8 bytes, need at least 256Mi; 8Gi is usual"}},
		"line break": {with("apiServerArgs", `v: "4\n--anonymous-auth=true"`),
			[]string{"5: spec.kubernetes.apiServerArgs[v]: has a line break or another control character in it; write it on one line"}},
	})

	c, err := spec.Parse("f", []byte(with("apiServerArgs", "goaway-chance: 0.10, event-ttl: '$HOME 1h', profiling: yes, v: 0x1F")))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"goaway-chance": "0.10", "event-ttl": "$HOME 1h", "profiling": "yes", "v": "0x1F"}
	if diff := cmp.Diff(want, c.Spec.Kubernetes.APIServerArgs); diff != "" {
		t.Error(diff)
	}
}

// Case 40.
func TestUpstreamDNSMustNotLoop(t *testing.T) {
	check(t, cases{
		"loopback": {local("  network: {upstreamDNS: [127.0.0.53]}\n"),
			[]string{"9: spec.network.upstreamDNS[0]: 127.0.0.53 is the pod of cluster DNS itself, not the host: queries would loop; name the servers that the host's resolver asks"}},
		"IPv6 loopback": {local("  network: {upstreamDNS: ['[::1]:53']}\n"),
			[]string{"9: spec.network.upstreamDNS[0]: ::1 is the pod of cluster DNS itself, not the host: queries would loop; name the servers that the host's resolver asks"}},
		"cluster DNS": {local("  network: {upstreamDNS: [192.0.2.53, 10.96.0.10]}\n"),
			[]string{"9: spec.network.upstreamDNS[1]: 10.96.0.10 is the address of cluster DNS itself: queries would loop"}},
		"name": {local("  network: {upstreamDNS: [dns.example.com]}\n"),
			[]string{`9: spec.network.upstreamDNS[0]: need an IP address, with or without port, got "dns.example.com"`}},
		"with ports": {local("  network: {upstreamDNS: ['192.0.2.53:5353', '2001:db8::53', '[2001:db8::53]:5353']}\n"), nil},
		"domain": {local("  network: {clusterDomain: Cluster.Local.}\n"),
			[]string{`9: spec.network.clusterDomain: need a DNS name such as cluster.local, got "Cluster.Local."; write cluster.local`}},
	})
}

func TestProviderDecidesHowHostsAreGiven(t *testing.T) {
	check(t, cases{
		"none": {strings.Replace(local(""), "local: {}", "", 1),
			[]string{"6: spec.provider: need exactly one provider: local, ssh, aws, gcp or vsphere; write local: {} or ssh: {}"}},
		"null": {strings.Replace(local(""), "local: {}", "local: ", 1),
			[]string{"6: spec.provider: need exactly one provider: local, ssh, aws, gcp or vsphere; write local: {} for one without settings"}},
		"two": {strings.Replace(local(""), "local: {}", "local: {}, ssh: {}", 1),
			[]string{"6: spec.provider: has local and ssh, need exactly one provider; remove all but one"}},
		"hosts with local": {strings.Replace(local(""), "replicas: 1}\n", "hosts: [{name: a, address: 192.0.2.1}]}\n", 1),
			[]string{"7: spec.controlPlane.hosts: the provider makes the hosts, they cannot be listed; set replicas instead"}},
		"no replicas with local": {strings.Replace(local(""), "replicas: 1}\n", "}\n", 1),
			[]string{"7: spec.controlPlane.replicas: is required with this provider; use one of 1, 3, 5"}},
		"replicas with ssh": {ssh("name: a, address: 192.0.2.1") + "    replicas: 1\n",
			[]string{"10: spec.controlPlane.replicas: hosts of the provider ssh are listed, not counted; list hosts instead"}},
		"two control planes": {ssh("name: a, address: 192.0.2.1", "name: b, address: 192.0.2.2"),
			[]string{"8: spec.controlPlane.hosts: need 1, 3 or 5 control planes, got 2; an even number of etcd members bears no more losses than one less"}},
		"pool without workers": {strings.Replace(local(""), "replicas: 1}]", "replicas: 0}]", 1), nil},
		"negative": {strings.Replace(local(""), "replicas: 1}]", "replicas: -1}]", 1),
			[]string{"8: spec.workers[0].replicas: must be at least 0, got -1"}},
	})
}

func TestEnumerationsLabelsAndTaints(t *testing.T) {
	pool := func(more string) string {
		return strings.Replace(local(""), "replicas: 1}]", "replicas: 1, "+more+"}]", 1)
	}
	check(t, cases{
		"cni":        {local("  network: {cni: flanel}\n"), []string{`9: spec.network.cni: must be flannel or none, got "flanel"; did you mean flannel?`}},
		"kube-proxy": {local("  network: {kubeProxy: iptable}\n"), []string{`9: spec.network.kubeProxy: must be nftables, iptables, ipvs or none, got "iptable"; did you mean iptables?`}},
		"swap":       {local("  host: {swap: keep}\n"), []string{`9: spec.host.swap: must be disable or allow, got "keep"`}},
		"algorithm":  {local("  pki: {algorithm: ed25519}\n"), []string{`9: spec.pki.algorithm: must be ecdsa or rsa, got "ed25519"`}},
		"effect": {pool("taints: [{key: a, effect: noschedule}]"),
			[]string{`8: spec.workers[0].taints[0].effect: must be NoSchedule, PreferNoSchedule or NoExecute, got "noschedule"; did you mean NoSchedule?`}},
		"taint twice": {pool("taints: [{key: a, effect: NoSchedule}, {key: a, value: x, effect: NoSchedule}]"),
			[]string{"8: spec.workers[0].taints[1]: the taint a:NoSchedule is used twice, also by spec.workers[0].taints[0] on line 8"}},
		"label read as text": {pool("labels: {example.com/gpu: true, n: 010}"), nil},
		"label value":        {pool("labels: {a: 'b c'}"), []string{"8: spec.workers[0].labels[a]: label value: a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"}},
		"SAN":                {strings.Replace(local(""), "replicas: 1}\n", "replicas: 1, certSANs: [k8s.example.com, 192.0.2.9, '2001:db8::1', '*.example.com', a_b]}\n", 1), []string{`7: spec.controlPlane.certSANs[4]: need a host name or an IP address, got "a_b"`}},
	})
}
