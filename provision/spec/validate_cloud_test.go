package spec_test

import (
	"strings"
	"testing"

	"clusterctl/provision/spec"
)

// aws is a spec with more below provider.aws from line 11 on.
func aws(more string) string {
	return `apiVersion: clusterctl/v1alpha1
kind: Cluster
metadata: {name: dev}
spec:
  kubernetes: {version: v1.37.2}
  controlPlane: {replicas: 3}
  workers: [{name: default, replicas: 1}]
  provider:
    aws:
      {region: eu-central-1, zones: [eu-central-1a], access: {sshFrom: [198.51.100.0/24]}` + more + `}
`
}

// Case 5h: the provider's own rules, with the longest suffix that is appended.
func TestNamesThatACloudWouldRefuseHalfWay(t *testing.T) {
	name := func(text, name string) string { return strings.Replace(text, "name: dev", "name: "+name, 1) }
	gcp := `apiVersion: clusterctl/v1alpha1
kind: Cluster
metadata: {name: dev}
spec:
  kubernetes: {version: v1.37.2}
  controlPlane: {replicas: 3}
  provider:
    gcp: {project: my-project, region: europe-west3, zones: [europe-west3-a], access: {sshFrom: [198.51.100.0/24]}}
`
	check(t, cases{
		"as long as may be on AWS": {name(aws(""), strings.Repeat("a", 28)), nil},
		"longer": {name(aws(""), strings.Repeat("a", 29)),
			[]string{"3: metadata.name: must have at most 28 characters with AWS, has 29: the load balancer " + strings.Repeat("a", 29) + "-api has at most 32; shorten the name"}},
		"as long as may be on GCP": {name(gcp, strings.Repeat("a", 23)), nil},
		"digit first on GCP":       {name(gcp, "1a"), []string{`3: metadata.name: must begin with a letter with GCP, got "1a"`}},
		"the reported one": {name(gcp, "Prod_EU-with-a-very-long-descriptive-name-for-the-payments-team"), []string{
			`3: metadata.name: makes host names such as prod_eu-with-a-very-long-descriptive-name-for-the-payments-team-cp-99 of 69 characters, at most 63 are allowed; shorten the name of the cluster or pool`,
			`3: metadata.name: must be letters, digits and - (a DNS label), got "prod_eu-with-a-very-long-descriptive-name-for-the-payments-team"; write prod-eu-with-a-very-long-descriptive-name-for-the-payments-team`,
			"3: metadata.name: must have at most 23 characters with GCP, has 63: the service account prod_eu-with-a-very-long-descriptive-name-for-the-payments-team-worker has at most 30; shorten the name",
		}},
	})
}

func TestAWS(t *testing.T) {
	check(t, cases{
		"the least": {aws(""), nil},
		"pool that is not there": {aws(", pools: [{name: defualt}]"),
			[]string{"10: spec.provider.aws.pools[0].name: there is no pool defualt in spec.workers; did you mean default?"}},
		"zone of another region": {strings.Replace(aws(""), "[eu-central-1a]", "[eu-west-1a]", 1),
			[]string{"10: spec.provider.aws.zones[0]: eu-west-1a is not a zone of region eu-central-1; write eu-central-1a or the like"}},
		"SSH open to everybody": {strings.Replace(aws(""), "198.51.100.0/24", "0.0.0.0/0", 1),
			[]string{"10: spec.provider.aws.access.sshFrom[0]: SSH would be open to everybody; name the range that you work from"}},
		"network made and named": {aws(", network: {cidr: 10.0.0.0/16, vpcID: vpc-1}"), []string{
			"10: spec.provider.aws.network.edgeSubnetIDs: is required with vpcID; name the subnets for the load balancer and the bastion",
			"10: spec.provider.aws.network.subnets: need one subnet in zone eu-central-1a",
			"10: spec.provider.aws.network.cidr: is for a VPC that is made; remove it, or vpcID",
		}},
		"small network": {aws(", network: {cidr: 10.0.0.0/24}"), []string{"10: spec.provider.aws.network.cidr: need an IPv4 range between /16 and /20, got 10.0.0.0/24"}},
		"network over the pods": {aws(", network: {cidr: 10.244.0.0/16}"),
			[]string{"10: spec.provider.aws.network.cidr: 10.244.0.0/16 overlaps 10.244.0.0/16 of spec.network.podCIDR (the default); choose ranges that are apart"}},
		"our tag":         {aws(", tags: {clusterctl/cluster: x}"), []string{"10: spec.provider.aws.tags[clusterctl/cluster]: is a tag that clusterctl or the cloud sets; choose another key"}},
		"strange backend": {aws(", backend: ftp://x"), []string{`10: spec.provider.aws.backend: need a URL of file, s3, gs or https, got "ftp://x"; such as s3://my-bucket`}},
		"hosts listed": {strings.Replace(aws(""), "{replicas: 3}", "{hosts: []}", 1),
			[]string{"6: spec.controlPlane.hosts: the provider makes the hosts, they cannot be listed; set replicas instead"}},
	})
}

func TestCloudDefaults(t *testing.T) {
	c, err := spec.Parse("f", []byte(aws(", workers: {instanceType: c6i.large}, pools: [{name: default, rootDisk: {iops: 4000}}]")))
	if err != nil {
		t.Fatal(err)
	}
	a := c.Spec.Provider.AWS
	if cp := a.ControlPlane; cp.InstanceType != "m6i.large" || cp.RootDisk.SizeGiB != 50 || cp.EtcdDisk.SizeGiB != 20 || cp.EtcdDisk.IOPS != 3000 {
		t.Errorf("control plane %+v", cp)
	}
	if pool := a.Machine("default"); pool.InstanceType != "c6i.large" || pool.RootDisk.IOPS != 4000 || pool.RootDisk.SizeGiB != 50 {
		t.Errorf("pool %+v", pool)
	}
	if a.User != "admin" || a.Access.APIFrom[0] != "198.51.100.0/24" || a.Network.CIDR != "10.0.0.0/16" || a.PoolImage("default").Owner != "136693071363" {
		t.Errorf("%+v", a)
	}
}

func TestVSphereAddresses(t *testing.T) {
	text := string(spec.Example("vsphere"))
	for name, tt := range map[string]struct{ old, new, want string }{
		"hosts outside":    {"192.0.2.64/26", "198.51.100.64/26", "hostCIDR: 198.51.100.64/26 is not a part of the subnet 192.0.2.0/24"},
		"gateway in hosts": {"192.0.2.1\n", "192.0.2.65\n", "gateway: 192.0.2.65 is in the hosts' range 192.0.2.64/26"},
		"gateway outside":  {"192.0.2.1\n", "198.51.100.1\n", "gateway: need an address of the subnet 192.0.2.0/24"},
		"no place":         {"      cluster: cluster-1\n", "", "need cluster or resourcePool"},
	} {
		if strings.Count(text, tt.old) != 1 {
			t.Fatalf("the example has %q not once", tt.old)
		}
		_, err := spec.Parse("f", []byte(strings.Replace(text, tt.old, tt.new, 1)))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAWSCloudController(t *testing.T) {
	const at = "10: spec.provider.aws.cloudController."
	endpoint := func(text string) string { return aws(", cloudController: {endpoints: [" + text + "]}") }
	check(t, cases{
		"switched off": {aws(", cloudController: {enabled: false}"), nil},
		"endpoints":    {endpoint("{service: ec2, url: https://vpce-1.ec2.example.com}, {service: elasticloadbalancing, url: 'http://[fd00:ec2::254]:81'}"), nil},
		"unknown service": {endpoint("{service: s3, url: https://s3.example.com}"),
			[]string{at + `endpoints[0].service: must be ec2, elasticloadbalancing or kms, got "s3"`}},
		"no URL": {endpoint("{service: ec2}"), []string{at + "endpoints[0].url: is required"}},
		"no URL of a server": {endpoint("{service: ec2, url: ec2.example.com}"),
			[]string{at + `endpoints[0].url: need a URL of https or http, got "ec2.example.com"; such as https://ec2.example.com`}},
		"line that would end the value": {endpoint(`{service: ec2, url: 'https://a/;VPC=x', signingRegion: "a b"}`), []string{
			at + `endpoints[0].url: need a URL of https or http, got "https://a/;VPC=x"; such as https://ec2.example.com`,
			at + `endpoints[0].signingRegion: need one word, got "a b"`}},
		"a service twice": {endpoint("{service: ec2, url: https://a.example.com}, {service: ec2, url: https://b.example.com}"),
			[]string{at + "endpoints[1].service: the service ec2 is used twice, also by spec.provider.aws.cloudController.endpoints[0].service on line 10"}},
		"endpoints of what does not run": {aws(", cloudController: {enabled: false, endpoints: [{service: ec2, url: https://a.example.com}]}"),
			[]string{at + "endpoints: is for a controller that runs; remove it, or enabled: false"}},
	})
}

func TestCloudControllerOfOnesOwn(t *testing.T) {
	vsphere := func(controller string) string {
		return strings.Replace(`apiVersion: clusterctl/v1alpha1
kind: Cluster
metadata: {name: dev}
spec:
  kubernetes: {version: v1.37.2}
  controlPlane: {replicas: 3}
  provider:
    vsphere:
      server: vcenter.example.com
      datacenter: dc
      cluster: c
      datastore: d
      network: n
      template: t
      addresses: {hostCIDR: 192.0.2.64/26, subnet: 192.0.2.0/24, gateway: 192.0.2.1}
      cloudController: CONTROLLER
`, "CONTROLLER", controller, 1)
	}
	const at = "16: spec.provider.vsphere.cloudController"
	check(t, cases{
		"image":     {vsphere("{image: 'registry.example.com/ccm:v1', args: {v: 2}}"), nil},
		"manifest":  {vsphere("{manifest: ccm.yaml}"), nil},
		"none":      {vsphere("{}"), []string{at + ": need either image or manifest; name the image, or the file with the controller's objects"}},
		"both":      {vsphere("{image: a, manifest: b.yaml}"), []string{at + ": need either image or manifest; name the image, or the file with the controller's objects"}},
		"no file":   {vsphere("{manifest: ccm}"), []string{at + `.manifest: need a file of YAML, got "ccm"; such as cloud-controller.yaml`}},
		"no image":  {vsphere("{image: 'a b'}"), []string{at + `.image: is no image name, got "a b"; such as registry.example.com/cloud-controller-manager:v1.37.0`}},
		"arguments": {vsphere("{manifest: ccm.yaml, args: {v: 2}}"), []string{at + ".args: is for the controller in an image; write the arguments into the manifest"}},
		"our argument": {vsphere("{image: a, args: {leader-elect: false}}"),
			[]string{at + ".args[leader-elect]: clusterctl sets this argument of cloud-controller-manager itself"}},
	})
}
