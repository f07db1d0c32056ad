package spec

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// GCP makes hosts as Compute Engine instances.
type GCP struct {
	// Project that everything is made in.
	Project string `json:"project" jsonschema:"pattern=^[a-z][-a-z0-9]+[a-z0-9]$"`
	// Region, such as europe-west3.
	Region string `json:"region" jsonschema:"pattern=^[a-z]+-[a-z]+[0-9]+$"`
	// Zones that hosts are spread over: the first host of a kind is in the first zone, and so on, round and round.
	Zones []string `json:"zones"`
	// The network: one that is made, or an existing one.
	Network GCPNetwork `json:"network,omitempty"`
	// Who reaches the hosts and the API from outside.
	Access CloudAccess `json:"access"`
	// The hosts' image.
	Image GCPImage `json:"image,omitempty"`
	// Machines of the control planes.
	ControlPlane GCPControlPlane `json:"controlPlane,omitempty"`
	// Machines of workers.
	Workers GCPMachine `json:"workers,omitempty"`
	// Worker pools with machines of their own.
	Pools []GCPPool `json:"pools,omitempty"`
	// A cloud controller of your choice that initialises nodes. Default: none.
	CloudController *CloudController `json:"cloudController,omitempty"`

	CloudSettings `json:",inline"`
}

// GCPNetwork is the network and its subnetwork.
type GCPNetwork struct {
	// Range of the subnetwork that is made. Default 10.0.0.0/20.
	CIDR string `json:"cidr,omitempty"`
	// How hosts without public addresses reach the internet: Cloud NAT, or not at all. Default auto.
	NAT string `json:"nat,omitempty" jsonschema:"enum=auto,enum=none,default=auto"`
	// Name of an existing network. It is used, and never changed or deleted.
	Name string `json:"name,omitempty"`
	// Name of the existing network's subnetwork in the region.
	Subnetwork string `json:"subnetwork,omitempty"`
	// The part of the existing subnetwork that hosts take their addresses from; nothing else may use it.
	HostCIDR string `json:"hostCIDR,omitempty"`
}

// GCPImage names an image: by its own name, or the newest of a family when the cluster is made. What was found then stays the cluster's image.
type GCPImage struct {
	// Name of the image.
	Name string `json:"name,omitempty"`
	// Project that has the image. Default debian-cloud.
	Project string `json:"project,omitempty" jsonschema:"default=debian-cloud"`
	// Family of the image. Default debian-12.
	Family string `json:"family,omitempty" jsonschema:"default=debian-12"`
}

// GCPMachine is an instance's size.
type GCPMachine struct {
	// Machine type. Default n2-standard-2.
	MachineType string `json:"machineType,omitempty" jsonschema:"default=n2-standard-2"`
	// The boot disk, pd-balanced. Default 50 GiB.
	RootDisk CloudDisk `json:"rootDisk,omitempty"`
}

// GCPControlPlane is a control plane's instance.
type GCPControlPlane struct {
	GCPMachine `json:",inline"`
	// The disk that only etcd writes to: pd-ssd, or hyperdisk-balanced when its operations are set. Default 20 GiB.
	EtcdDisk CloudDisk `json:"etcdDisk,omitempty"`
}

// GCPPool is the machines of one worker pool.
type GCPPool struct {
	// Name of the pool, as in spec.workers.
	Name string `json:"name"`
	// The image of the pool. Default: the provider's.
	Image GCPImage `json:"image,omitempty"`

	GCPMachine `json:",inline"`
}

// Machine gives the size of a host of a pool; a control plane's for the empty name.
func (g *GCP) Machine(pool string) GCPMachine {
	if pool == "" {
		return g.ControlPlane.GCPMachine
	}
	for _, p := range g.Pools {
		if p.Name == pool {
			return p.GCPMachine
		}
	}
	return g.Workers
}

// PoolImage gives the image of a host of a pool; the provider's for control planes.
func (g *GCP) PoolImage(pool string) GCPImage {
	for _, p := range g.Pools {
		if pool != "" && p.Name == pool {
			return p.Image
		}
	}
	return g.Image
}

const (
	defaultSubnetwork = "10.0.0.0/20"
	// defaultGCPUser is made by the guest agent of Google's images.
	defaultGCPUser = "clusterctl"
)

func (c *Cluster) setGCPDefaults(g *GCP) {
	setTagDefaults(reflect.ValueOf(g).Elem())
	g.User = cmp.Or(g.User, defaultGCPUser)
	if g.Network.Name == "" {
		g.Network.CIDR = cmp.Or(g.Network.CIDR, defaultSubnetwork)
	}
	g.Access.setDefaults()
	g.ControlPlane.RootDisk.SizeGiB = cmp.Or(g.ControlPlane.RootDisk.SizeGiB, defaultRootDisk)
	g.ControlPlane.EtcdDisk.SizeGiB = cmp.Or(g.ControlPlane.EtcdDisk.SizeGiB, defaultEtcdDisk)
	g.Workers.RootDisk.SizeGiB = cmp.Or(g.Workers.RootDisk.SizeGiB, defaultRootDisk)
	for i := range g.Pools {
		p := &g.Pools[i]
		p.MachineType = cmp.Or(p.MachineType, g.Workers.MachineType)
		p.RootDisk = cmp.Or(p.RootDisk, g.Workers.RootDisk)
		p.RootDisk.SizeGiB = cmp.Or(p.RootDisk.SizeGiB, g.Workers.RootDisk.SizeGiB)
		if p.Image == (GCPImage{}) {
			p.Image = g.Image
		}
		p.Image.Project, p.Image.Family = cmp.Or(p.Image.Project, g.Image.Project), cmp.Or(p.Image.Family, g.Image.Family)
	}
}

// maxGCPName is what a cluster's name may have with GCP: its service accounts are called
// NAME-worker and so on, and have at most 30 characters (IAM API, projects.serviceAccounts.create).
const maxGCPName = 30 - len("-worker")

// gcpName is how names in GCP begin: with a letter (RFC 1035, as Compute Engine wants it).
const gcpName = `^[a-z]`

// checkGCP checks what can be known of GCP without asking it.
func (v *validator) checkGCP() {
	g := v.c.Spec.Provider.GCP
	if g == nil {
		return
	}
	path := at("provider", "gcp")
	v.checkCloudName("GCP", maxGCPName, "the service account "+v.c.Metadata.Name+"-worker has at most 30")
	if name := v.c.Metadata.Name; name != "" && !regexp.MustCompile(gcpName).MatchString(name) {
		v.add(field.NewPath("metadata", "name"), fmt.Sprintf("must begin with a letter with GCP, got %q", name), "")
	}
	zones := v.distinct()
	for i, z := range g.Zones {
		zones.add(z, path.Child("zones").Index(i), "the zone %s")
		if !strings.HasPrefix(z, g.Region+"-") {
			v.add(path.Child("zones").Index(i), fmt.Sprintf("%s is not a zone of region %s", z, g.Region), "write "+g.Region+"-a or the like")
		}
	}
	v.checkGCPNetwork(path.Child("network"), g.Network)
	v.checkAccess(path.Child("access"), g.Access)
	v.checkLabelsOfGCP(path.Child("tags"), g.Tags)
	v.checkBackend(path.Child("backend"), g.Backend)
	v.checkCloudController(path.Child("cloudController"), g.CloudController)
	pools := v.distinct()
	for i, p := range g.Pools {
		name := path.Child("pools").Index(i).Child("name")
		pools.add(p.Name, name, "the pool %s")
		v.checkPoolExists(name, p.Name)
	}
}

func (v *validator) checkGCPNetwork(path *field.Path, n GCPNetwork) {
	if n.Name == "" {
		for _, name := range []string{"subnetwork", "hostCIDR"} {
			if v.isSet(path.Child(name)) {
				v.add(path.Child(name), "is of an existing network", "set name, or remove it")
			}
		}
		v.checkHostRange(path.Child("cidr"), n.CIDR)
		return
	}
	for _, name := range []string{"cidr", "nat"} {
		if v.isSet(path.Child(name)) {
			v.add(path.Child(name), "is for a network that is made", "remove it, or name")
		}
	}
	if n.Subnetwork == "" {
		v.add(path.Child("subnetwork"), "is required with name", "")
	}
	v.checkHostRange(path.Child("hostCIDR"), n.HostCIDR)
}

// checkLabelsOfGCP checks labels by Compute Engine's rules (Labeling resources, requirements).
func (v *validator) checkLabelsOfGCP(path *field.Path, tags map[string]string) {
	v.checkTags(path, tags)
	key, value := regexp.MustCompile(`^[a-z][-_a-z0-9]{0,62}$`), regexp.MustCompile(`^[-_a-z0-9]{0,63}$`)
	for k, text := range tags {
		if !key.MatchString(k) || !value.MatchString(text) {
			v.add(path.Key(k), "GCP's labels are small letters, digits, - and _, and begin with a letter", "")
		}
	}
}
