//go:build e2e

package cloud

import (
	"path/filepath"
	"slices"
	"testing"

	"clusterctl/provision/cloud/aws"
	"clusterctl/provision/cloud/gcp"
	"clusterctl/provision/cloud/standin"
	"clusterctl/provision/cloud/vsphere"
)

// cloudCase is what differs between the clouds in the tests.
type cloudCase struct {
	pkg, version, machine string
	tokens                []string  // of the types and functions that are used
	settings              string    // below the provider in the spec
	addresses             [3]string // of dev-cp-1, dev-web-1 and dev-web-2
	endpoint              bool
	image                 func(inputs map[string]any) string
	first, newest         string            // images: when the cluster is made, and later
	size                  string            // settings that want other machines for control planes
	refused               map[string]string // more settings, and what is said of them
}

func awsCase() cloudCase {
	return cloudCase{
		pkg: "aws", version: aws.Version, machine: aws.MachineType, tokens: slices.Concat(aws.Types(), aws.Functions()),
		settings: `
      region: eu-central-1
      zones: [eu-central-1a]
      access: {ssh: private, sshFrom: [10.9.0.0/16]}
      network: {nat: none}`,
		addresses: [3]string{"10.0.4.1", "10.0.4.2", "10.0.4.3"}, endpoint: true,
		image: textOf("ami"), first: "ami-0000000000000000a", newest: "ami-0000000000000000b",
		size: "controlPlane: {instanceType: m6i.xlarge}",
		refused: map[string]string{
			"image: {id: ami-0000000000000000b}":       "dev-cp-1 (ami ami-0000000000000000a -> ami-0000000000000000b)",
			"controlPlane: {instanceType: m6i.xlarge}": "dev-cp-1 (instanceType m6i.large -> m6i.xlarge)",
		},
	}
}

func gcpCase() cloudCase {
	return cloudCase{
		pkg: "gcp", version: gcp.Version, machine: gcp.MachineType, tokens: slices.Concat(gcp.Types(), gcp.Functions()),
		settings: `
      project: my-project
      region: europe-west3
      zones: [europe-west3-a]
      access: {ssh: private, sshFrom: [10.9.0.0/16]}
      network: {cidr: 10.0.0.0/20, nat: none}`,
		addresses: [3]string{"10.0.4.1", "10.0.4.2", "10.0.4.3"}, endpoint: true,
		image: textOf("bootDisk", "initializeParams", "image"), first: "projects/debian-cloud/global/images/debian-12-v1", newest: "debian-12-v2",
		size: "controlPlane: {machineType: n2-standard-8}",
		refused: map[string]string{
			"image: {project: debian-cloud, name: debian-12-v2}": "dev-cp-1 (bootDisk",
			"controlPlane: {machineType: n2-standard-8}":         "dev-cp-1 (machineType n2-standard-2 -> n2-standard-8)",
		},
	}
}

func vsphereCase() cloudCase {
	return cloudCase{
		pkg: "vsphere", version: vsphere.Version, machine: vsphere.MachineType, tokens: slices.Concat(vsphere.Types(), vsphere.Functions()),
		settings: `
      server: vcenter.example.com
      datacenter: dc-1
      cluster: cluster-1
      datastore: datastore-1
      network: VM Network
      template: debian-12
      addresses: {hostCIDR: 192.0.2.64/26, subnet: 192.0.2.0/24, gateway: 192.0.2.1}`,
		addresses: [3]string{"192.0.2.65", "192.0.2.66", "192.0.2.67"},
		image:     textOf("clone", "templateUuid"), first: "template-1", newest: "template-2",
		size: "controlPlane: {cpus: 8}", refused: map[string]string{"controlPlane: {cpus: 8}": "dev-cp-1 (numCpus 2 -> 8)"},
	}
}

// fieldsFile has the fields of the real provider, so that the stand-in refuses any other.
func (c cloudCase) fieldsFile(t *testing.T) string {
	t.Helper()
	fields, err := standin.RealFields(t.Context(), "standin/sdk", c.pkg, c.tokens)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "fields.json")
	if err := fields.Write(path); err != nil {
		t.Fatal(err)
	}
	return path
}
