package components_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"clusterctl/components"
	"clusterctl/components/cloudcontroller"
	"clusterctl/components/kubernetes"
	"clusterctl/components/release"
	"clusterctl/components/resource"
	"clusterctl/e2e/golden"
	"clusterctl/provision/inventory"
	"clusterctl/provision/spec"
)

const (
	awsProvider     = "aws: {region: eu-central-1, zones: [eu-central-1a], access: {sshFrom: [198.51.100.0/24]}, cloudController: {"
	gcpProvider     = "gcp: {project: p, region: europe-west3, zones: [europe-west3-a], access: {sshFrom: [198.51.100.0/24]}"
	vsphereProvider = "vsphere: {server: v, datacenter: d, cluster: c, datastore: s, network: n, template: t, addresses: {hostCIDR: 192.0.2.64/26, subnet: 192.0.2.0/24, gateway: 192.0.2.1}"
)

// inCloud gives the nodes of a control plane and a worker in a cloud.
func inCloud(t *testing.T, provider string, place inventory.Place) []components.Node {
	t.Helper()
	text := "apiVersion: clusterctl/v1alpha1\nkind: Cluster\nmetadata: {name: dev}\nspec:\n  kubernetes: {version: v1.37.2}\n" +
		"  controlPlane: {replicas: 1}\n  workers: [{name: default, replicas: 1}]\n  provider:\n    " + provider + "}\n"
	s, err := spec.Parse("spec.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	inv := inventory.Inventory{Hosts: []inventory.Host{
		{Name: "dev-cp-1", Role: inventory.ControlPlane, Address: netip.MustParseAddr("10.0.4.1"), Place: place},
		{Name: "dev-default-1", Role: inventory.Worker, Pool: "default", Address: netip.MustParseAddr("10.0.4.2"), Place: place},
	}}
	return nodesOf(t, s, inv, machine)
}

func awsPlace() inventory.Place {
	return inventory.Place{ProviderID: "aws:///eu-central-1a/i-0123", Zone: "eu-central-1a", Region: "eu-central-1"}
}

func TestGoldenCloudControllerOfAWS(t *testing.T) {
	n := inCloud(t, awsProvider+`endpoints: [{service: ec2, url: "https://ec2.example.com"}, {service: elasticloadbalancing, url: "https://elb.example.com:8443", signingRegion: private-1}]}`, awsPlace())[0]
	rs, err := cloudcontroller.AWS{}.Resources(n)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, r := range rs {
		out["0 resources"] += describe(r) + "\n"
		if f, ok := r.(resource.File); ok && !f.Secret && !strings.Contains(string(f.Content), "-----BEGIN") {
			out["1 "+f.Path] = string(f.Content)
		}
	}
	out["2 objects"] = yamls(t, n)
	golden.Check(t, "testdata/cloud-controller-aws.txt", join(out))
}

func TestGoldenCloudControllerInAnImage(t *testing.T) {
	n := inCloud(t, gcpProvider+", cloudController: {image: 'registry.example.com/ccm:v1', args: {v: 2}}", inventory.Place{})[0]
	golden.Check(t, "testdata/cloud-controller-image.txt", yamls(t, n))
}

// yamls is the objects of a node's cloud controller.
func yamls(t *testing.T, n components.Node) string {
	t.Helper()
	rs, err := cloudcontroller.Objects(n.Spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, r := range rs {
		text, err := yaml.Marshal(r.(resource.Manifest).Object.Object)
		if err != nil {
			t.Fatal(err)
		}
		out.WriteString("---\n" + string(text))
	}
	return out.String()
}

func TestKubeletsOfCloudsKnowTheirMachine(t *testing.T) {
	gce := inventory.Place{ProviderID: "gce://p/europe-west3-a/dev-cp-1", Zone: "europe-west3-a", Region: "europe-west3"}
	vm := inventory.Place{ProviderID: "vsphere://4211", Region: "d"}
	cases := map[string]struct {
		provider string
		place    inventory.Place
		external bool
		zone, id string
	}{
		"AWS":                       {awsProvider + "}", awsPlace(), true, "eu-central-1a", awsPlace().ProviderID},
		"AWS without controller":    {awsProvider + "enabled: false}", awsPlace(), false, "eu-central-1a", awsPlace().ProviderID},
		"AWS before it is made":     {awsProvider + "}", inventory.Place{}, true, "", ""},
		"GCP":                       {gcpProvider, gce, false, "europe-west3-a", gce.ProviderID},
		"GCP with a controller":     {gcpProvider + ", cloudController: {image: a}", gce, true, "", gce.ProviderID},
		"vSphere":                   {vsphereProvider, vm, false, "", vm.ProviderID},
		"vSphere with a controller": {vsphereProvider + ", cloudController: {manifest: a.yaml}", vm, true, "", vm.ProviderID},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			for _, n := range inCloud(t, c.provider, c.place) {
				args := kubernetes.KubeletArgs(n)
				if got := slices.Contains(args, "--cloud-provider=external"); got != c.external {
					t.Errorf("%s: external %v: %q", n.Host.Name, got, args)
				}
				if got := slices.Contains(args, "--provider-id="+c.id); got != (c.id != "") {
					t.Errorf("%s: provider id: %q", n.Host.Name, args)
				}
				node := kubernetes.Node(n).(resource.Node)
				if got := node.Initial["topology.kubernetes.io/zone"]; got != c.zone || node.ProviderID != c.id {
					t.Errorf("%s: zone %q, provider id %q", n.Host.Name, got, node.ProviderID)
				}
			}
		})
	}
}

func TestBundleWithoutTheCloudControllerSaysHowToBuildIt(t *testing.T) {
	n := inCloud(t, awsProvider+"}", awsPlace())[0]
	delete(n.Binaries, cloudcontroller.AWSName)
	_, err := cloudcontroller.AWS{}.Resources(n)
	if err == nil || !strings.HasSuffix(err.Error(), "clusterctl bundle build --kubernetes v1.37.2 --with "+release.AWS) {
		t.Errorf("error %v", err)
	}
}
