package spec

import (
	"cmp"
	"fmt"
	"net/netip"
	"reflect"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// VSphere makes hosts as virtual machines of a vCenter. User and password come from VSPHERE_USER and VSPHERE_PASSWORD.
type VSphere struct {
	// Host name or address of the vCenter.
	Server string `json:"server"`
	// Do not check the vCenter's certificate. For test installations only.
	AllowUnverifiedTLS bool `json:"allowUnverifiedTLS,omitempty"`
	// Datacenter that everything is in.
	Datacenter string `json:"datacenter"`
	// Cluster that the machines run in; its root resource pool is used unless resourcePool is set.
	Cluster string `json:"cluster,omitempty"`
	// Resource pool that the machines run in, by name or path.
	ResourcePool string `json:"resourcePool,omitempty"`
	// Existing folder that the cluster's own folder is made in. Default: the datacenter's folder of machines.
	Folder string `json:"folder,omitempty"`
	// Datastore of the disks.
	Datastore string `json:"datastore,omitempty"`
	// Datastore cluster of the disks, instead of a datastore.
	DatastoreCluster string `json:"datastoreCluster,omitempty"`
	// Network (port group) of the machines.
	Network string `json:"network"`
	// Template that machines are cloned from: a Linux with cloud-init and VMware's tools.
	Template string `json:"template"`
	// The machines' addresses; they get them from cloud-init, not by DHCP.
	Addresses VSphereAddresses `json:"addresses"`
	// Machines of the control planes.
	ControlPlane VSphereControlPlane `json:"controlPlane,omitempty"`
	// Machines of workers.
	Workers VSphereMachine `json:"workers,omitempty"`
	// Worker pools with machines of their own.
	Pools []VSpherePool `json:"pools,omitempty"`
	// A cloud controller of your choice that initialises nodes. Default: none.
	CloudController *CloudController `json:"cloudController,omitempty"`
	// Let control planes run on the same physical host. Default false: a rule of the cluster keeps them apart.
	AllowSharedHosts bool `json:"allowSharedHosts,omitempty"`

	CloudSettings `json:",inline"`
}

// VSphereAddresses says which addresses machines get.
type VSphereAddresses struct {
	// The part of the network that hosts take their addresses from; nothing else may use it.
	HostCIDR string `json:"hostCIDR"`
	// Range of the whole network.
	Subnet string `json:"subnet"`
	// Gateway of the network.
	Gateway string `json:"gateway"`
	// Servers that resolve names.
	Nameservers []string `json:"nameservers,omitempty"`
}

// VSphereMachine is a virtual machine's size.
type VSphereMachine struct {
	// Number of CPUs. Default 2.
	CPUs int `json:"cpus,omitempty" jsonschema:"minimum=1,maximum=768"`
	// Memory in GiB. Default 8.
	MemoryGiB int `json:"memoryGiB,omitempty" jsonschema:"minimum=2,maximum=24576"`
	// The root disk. Default 50 GiB; it is at least the template's.
	RootDisk CloudDisk `json:"rootDisk,omitempty"`
}

// VSphereControlPlane is a control plane's machine.
type VSphereControlPlane struct {
	VSphereMachine `json:",inline"`
	// The disk that only etcd writes to. Default 20 GiB.
	EtcdDisk CloudDisk `json:"etcdDisk,omitempty"`
}

// VSpherePool is the machines of one worker pool.
type VSpherePool struct {
	// Name of the pool, as in spec.workers.
	Name string `json:"name"`

	VSphereMachine `json:",inline"`
}

// Machine gives the size of a host of a pool; a control plane's for the empty name.
func (v *VSphere) Machine(pool string) VSphereMachine {
	if pool == "" {
		return v.ControlPlane.VSphereMachine
	}
	for _, p := range v.Pools {
		if p.Name == pool {
			return p.VSphereMachine
		}
	}
	return v.Workers
}

// defaultVSphereUser is that of Debian's generic cloud image.
const defaultVSphereUser = "debian"

func (m *VSphereMachine) setDefaults(like VSphereMachine) {
	m.CPUs, m.MemoryGiB = cmp.Or(m.CPUs, like.CPUs), cmp.Or(m.MemoryGiB, like.MemoryGiB)
	m.RootDisk.SizeGiB = cmp.Or(m.RootDisk.SizeGiB, like.RootDisk.SizeGiB)
}

func (c *Cluster) setVSphereDefaults(v *VSphere) {
	setTagDefaults(reflect.ValueOf(v).Elem())
	v.User = cmp.Or(v.User, defaultVSphereUser)
	usual := VSphereMachine{CPUs: 2, MemoryGiB: 8, RootDisk: CloudDisk{SizeGiB: defaultRootDisk}}
	v.ControlPlane.setDefaults(usual)
	v.ControlPlane.EtcdDisk.SizeGiB = cmp.Or(v.ControlPlane.EtcdDisk.SizeGiB, defaultEtcdDisk)
	v.Workers.setDefaults(usual)
	for i := range v.Pools {
		v.Pools[i].setDefaults(v.Workers)
	}
}

// maxVSphereName is what a cluster's name may have with vSphere: names have at most 80 characters
// there (vSphere API, VirtualMachine.name), which host names never reach; those of pools do not
// count, so this is the rule for host names, DNS labels.
const maxVSphereName = 63 - len("-control-planes")

// checkVSphere checks what can be known of a vCenter without asking it.
func (v *validator) checkVSphere() {
	s := v.c.Spec.Provider.VSphere
	if s == nil {
		return
	}
	path := at("provider", "vsphere")
	v.checkCloudName("vSphere", maxVSphereName, "the rule "+v.c.Metadata.Name+"-control-planes has at most 63")
	v.checkHostField(path.Child("server"), s.Server)
	if s.Cluster == "" && s.ResourcePool == "" {
		v.add(path, "need cluster or resourcePool", "name where the machines run")
	}
	if (s.Datastore == "") == (s.DatastoreCluster == "") {
		v.add(path, "need either datastore or datastoreCluster", "name where the disks are")
	}
	v.checkVSphereAddresses(path.Child("addresses"), s.Addresses)
	v.checkBackend(path.Child("backend"), s.Backend)
	v.checkCloudController(path.Child("cloudController"), s.CloudController)
	if len(s.Tags) > 0 {
		v.add(path.Child("tags"), "vSphere has no free tags", "remove it")
	}
	pools := v.distinct()
	for i, p := range s.Pools {
		name := path.Child("pools").Index(i).Child("name")
		pools.add(p.Name, name, "the pool %s")
		v.checkPoolExists(name, p.Name)
	}
}

// checkVSphereAddresses checks that hosts and gateway are in the network.
func (v *validator) checkVSphereAddresses(path *field.Path, a VSphereAddresses) {
	v.checkHostRange(path.Child("hostCIDR"), a.HostCIDR)
	subnet, ok := v.checkRange(path.Child("subnet"), a.Subnet)
	if !ok {
		return
	}
	if hosts, err := netip.ParsePrefix(a.HostCIDR); err == nil && (!subnet.Contains(hosts.Addr()) || hosts.Bits() < subnet.Bits()) {
		v.add(path.Child("hostCIDR"), fmt.Sprintf("%s is not a part of the subnet %s", hosts, subnet), "")
	}
	gateway, err := netip.ParseAddr(a.Gateway)
	if err != nil || !subnet.Contains(gateway) {
		v.add(path.Child("gateway"), fmt.Sprintf("need an address of the subnet %s, got %q", subnet, a.Gateway), "")
	} else if hosts, err := netip.ParsePrefix(a.HostCIDR); err == nil && hosts.Contains(gateway) {
		v.add(path.Child("gateway"), fmt.Sprintf("%s is in the hosts' range %s", gateway, hosts), "leave it out of hostCIDR")
	}
	for i, text := range a.Nameservers {
		if _, err := netip.ParseAddr(text); err != nil {
			v.add(path.Child("nameservers").Index(i), fmt.Sprintf("need an IP address, got %q", text), "")
		}
	}
}
