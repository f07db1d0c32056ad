// Package vsphere is the program that makes a cluster's machines in a vCenter: what it registers is
// what there must be. There is no load balancer: the endpoint is the spec's, or the balancer that
// every host has.
package vsphere

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strings"

	"clusterctl/provision/cloud/ask"
	"clusterctl/provision/cloud/layout"
	"clusterctl/provision/inventory"
	"clusterctl/provision/spec"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const (
	// Version is that of the provider plugin.
	Version = "4.16.2"
	// MachineType is what a host is here.
	MachineType = "vsphere:index/virtualMachine:VirtualMachine"
	// AddressKey is where a machine's extra configuration has its cluster address.
	AddressKey = "guestinfo.clusterctl.address"
)

// builder is one run of the program.
type builder struct {
	*ask.Cloud
	c    layout.Cluster
	v    *spec.VSphere
	name string // the cluster's

	datacenter, computeCluster, pool, datastore, network string
	template                                             template
	folder                                               pulumi.StringInput
	images                                               map[string]string
}

// template is what a clone takes over from its origin.
type template struct {
	Id                    string   `pulumi:"id"`
	GuestId               string   `pulumi:"guestId"`
	Firmware              string   `pulumi:"firmware"`
	ScsiType              string   `pulumi:"scsiType"`
	NetworkInterfaceTypes []string `pulumi:"networkInterfaceTypes"`
}

// Program gives the program for a cluster whose spec names vSphere.
func Program(c layout.Cluster) pulumi.RunFunc {
	return func(ctx *pulumi.Context) error {
		b, err := begin(ctx, c)
		if err != nil {
			return err
		}
		for _, step := range []func() error{b.places, b.origin, b.look, b.ownFolder, b.machines} {
			if err := step(); err != nil {
				return err
			}
		}
		return nil
	}
}

func begin(ctx *pulumi.Context, c layout.Cluster) (*builder, error) {
	v := c.Spec.Spec.Provider.VSphere
	args := pulumi.Map{"vsphereServer": pulumi.String(v.Server)}
	if v.AllowUnverifiedTLS {
		args["allowUnverifiedSsl"] = pulumi.Bool(true)
	}
	asked, err := ask.Begin(ctx, "vsphere", Version, args)
	return &builder{Cloud: asked, c: c, v: v, name: c.Spec.Metadata.Name}, err
}

// call asks the vCenter; name is such as getNetwork.
func (b *builder) call(name string, args map[string]any, out any) error {
	return b.Look(function(name), args, out)
}

// id looks a thing of the vCenter up by its name.
func (b *builder) id(getter, what, name string, more map[string]any) (string, error) {
	args := map[string]any{"name": name}
	for k, v := range more {
		args[k] = v
	}
	var out struct {
		Id string `pulumi:"id"`
	}
	if err := b.call(getter, args, &out); err != nil {
		return "", fmt.Errorf("find %s %s in the vCenter: %w", what, name, err)
	}
	if out.Id == "" {
		return "", fmt.Errorf("the vCenter has no %s %s", what, name)
	}
	return out.Id, nil
}

// places finds where machines run, where their disks are and what they are connected to.
func (b *builder) places() (err error) {
	if b.datacenter, err = b.id("getDatacenter", "datacenter", b.v.Datacenter, nil); err != nil {
		return err
	}
	here := map[string]any{"datacenterId": b.datacenter}
	if b.v.Cluster != "" {
		var out struct {
			Id             string `pulumi:"id"`
			ResourcePoolId string `pulumi:"resourcePoolId"`
		}
		if err := b.call("getComputeCluster", map[string]any{"name": b.v.Cluster, "datacenterId": b.datacenter}, &out); err != nil {
			return fmt.Errorf("find cluster %s in the vCenter: %w", b.v.Cluster, err)
		}
		b.computeCluster, b.pool = out.Id, out.ResourcePoolId
	}
	if b.v.ResourcePool != "" {
		if b.pool, err = b.id("getResourcePool", "resource pool", b.v.ResourcePool, here); err != nil {
			return err
		}
	}
	if b.v.Datastore != "" {
		b.datastore, err = b.id("getDatastore", "datastore", b.v.Datastore, here)
	} else {
		b.datastore, err = b.id("getDatastoreCluster", "datastore cluster", b.v.DatastoreCluster, here)
	}
	if err != nil {
		return err
	}
	b.network, err = b.id("getNetwork", "network", b.v.Network, here)
	return err
}

// origin finds the template. Its id stays the cluster's: another template of the same name, or a
// newer one, is taken for new clusters only. One that is gone hinders nothing but new machines, which
// the vCenter then refuses to clone.
func (b *builder) origin() error {
	err := b.call("getVirtualMachine", map[string]any{"name": b.v.Template, "datacenterId": b.datacenter}, &b.template)
	known := b.c.Seen.Images[b.v.Template]
	switch {
	case err != nil && (known == "" || !missing(err)):
		return fmt.Errorf("find template %s in the vCenter: %w", b.v.Template, err)
	case known != "":
		b.template.Id = known
	case b.template.Id == "":
		return fmt.Errorf("the vCenter has no template %s in datacenter %s", b.v.Template, b.v.Datacenter)
	}
	b.images = map[string]string{b.v.Template: b.template.Id}
	return nil
}

// missing tells whether the vCenter has no such thing.
func missing(err error) bool { return strings.Contains(err.Error(), "not found") }

// look finds machines of ours that the state does not know, and a folder whose making was cut off.
func (b *builder) look() error {
	if len(b.c.Seen.Pending[folderType]) > 0 {
		place := path.Join("/", b.v.Datacenter, "vm", b.folderPath())
		var out struct {
			Id string `pulumi:"id"`
		}
		if err := b.call("getFolder", map[string]any{"path": place}, &out); err != nil && !missing(err) {
			return fmt.Errorf("look for the folder %s in the vCenter: %w", place, err)
		}
		if out.Id != "" {
			b.Adopt[folderType+" "+b.name] = place
		}
	}
	var strangers []string
	for _, m := range b.c.Machines {
		if b.c.Seen.Machines[m.Name] != "" {
			continue
		}
		var out struct {
			Id string `pulumi:"id"`
		}
		err := b.call("getVirtualMachine", map[string]any{"name": m.Name, "datacenterId": b.datacenter, "folder": b.folderPath()}, &out)
		if err != nil && !missing(err) {
			return fmt.Errorf("look for %s in the vCenter: %w", m.Name, err)
		}
		if err != nil || out.Id == "" {
			continue
		}
		place := path.Join("/", b.v.Datacenter, "vm", b.folderPath(), m.Name) // what the provider imports by
		b.Adopt[MachineType+" "+m.Name] = place
		if !b.c.Seen.Founded {
			strangers = append(strangers, place)
		}
	}
	if len(strangers) > 0 {
		return &layout.StrangersError{Cloud: "the vCenter", Cluster: b.name, Mark: "named like its hosts", IDs: strangers}
	}
	return nil
}

func (b *builder) folderPath() string { return path.Join(b.v.Folder, b.name) }

// ownFolder keeps the cluster's machines together, and apart from others.
func (b *builder) ownFolder() error {
	made, err := b.Make(folderType, b.name, folderArgs{Path: pulumi.String(b.folderPath()), Type: pulumi.String("vm"), DatacenterId: pulumi.String(b.datacenter)})
	if err != nil {
		return err
	}
	b.folder = made.Path
	return nil
}

func (b *builder) machines() error {
	var controlPlanes pulumi.StringArray
	for _, m := range b.c.Machines {
		made, err := b.machine(m)
		if err != nil {
			return err
		}
		if m.Role == inventory.ControlPlane {
			controlPlanes = append(controlPlanes, made.ID())
		}
	}
	b.Export("images", pulumi.ToStringMap(b.images))
	if len(controlPlanes) < 2 || b.computeCluster == "" || b.v.AllowSharedHosts {
		return nil
	}
	name := b.name + "-control-planes"
	_, err := b.Make(ruleType, name, ruleArgs{Name: pulumi.String(name), ComputeClusterId: pulumi.String(b.computeCluster), VirtualMachineIds: controlPlanes, Enabled: pulumi.Bool(true)})
	return err
}

// machine clones one host from the template.
func (b *builder) machine(m layout.Machine) (*ask.Made, error) {
	around, err := b.Host(m.Name)
	if err != nil {
		return nil, err
	}
	controlPlane, size := m.Role == inventory.ControlPlane, b.v.Machine(m.Pool)
	extra, err := b.guestinfo(m, controlPlane)
	if err != nil {
		return nil, err
	}
	args := virtualMachineArgs{
		Name: pulumi.String(m.Name), Folder: b.folder, ResourcePoolId: pulumi.String(b.pool), NumCpus: pulumi.Int(size.CPUs), Memory: pulumi.Int(size.MemoryGiB * 1024),
		GuestId: pulumi.String(b.template.GuestId), EnableDiskUuid: pulumi.Bool(true), Annotation: pulumi.String("clusterctl: " + string(m.Role) + " of " + b.name),
		NetworkInterfaces: []networkInterface{{NetworkId: pulumi.String(b.network), AdapterType: pulumi.String(b.adapter())}},
		Disks:             []disk{{Label: pulumi.String("disk0"), Size: pulumi.Int(size.RootDisk.SizeGiB), UnitNumber: pulumi.Int(0), ThinProvisioned: pulumi.Bool(true)}},
		Clone:             &clone{TemplateUuid: pulumi.String(b.template.Id)}, ExtraConfig: extra,
		WaitForGuestNetTimeout: pulumi.Int(10),
	}
	if b.v.Datastore != "" {
		args.DatastoreId = pulumi.String(b.datastore)
	} else {
		args.DatastoreClusterId = pulumi.String(b.datastore)
	}
	if b.template.Firmware != "" {
		args.Firmware = pulumi.String(b.template.Firmware)
	}
	if b.template.ScsiType != "" {
		args.ScsiType = pulumi.String(b.template.ScsiType)
	}
	if controlPlane {
		args.Disks = append(args.Disks, disk{Label: pulumi.String("etcd"), Size: pulumi.Int(b.v.ControlPlane.EtcdDisk.SizeGiB), UnitNumber: pulumi.Int(1), ThinProvisioned: pulumi.Bool(false)})
	}
	return b.Make(MachineType, m.Name, args,
		pulumi.Parent(around), pulumi.Protect(controlPlane && !b.c.Unprotected), pulumi.DeleteBeforeReplace(true), pulumi.IgnoreChanges([]string{"extraConfig", "guestId", "firmware", "scsiType", "networkInterfaces[0].adapterType"}))
}

func (b *builder) adapter() string {
	if len(b.template.NetworkInterfaceTypes) > 0 {
		return b.template.NetworkInterfaceTypes[0]
	}
	return "vmxnet3"
}

// guestinfo is what cloud-init in the guest reads (cloud-init, datasource VMware): who the machine
// is and what it does at its first boot. It holds no secret.
func (b *builder) guestinfo(m layout.Machine, etcdDisk bool) (pulumi.StringMap, error) {
	subnet, err := netip.ParsePrefix(b.v.Addresses.Subnet)
	if err != nil {
		return nil, fmt.Errorf("spec.provider.vsphere.addresses.subnet: %w", err)
	}
	type route struct {
		To  string `json:"to"`
		Via string `json:"via"`
	}
	type card struct {
		Match       map[string]string   `json:"match"`
		Addresses   []string            `json:"addresses"`
		Routes      []route             `json:"routes"`
		Nameservers map[string][]string `json:"nameservers,omitempty"`
	}
	nic := card{
		Match: map[string]string{"name": "e*"}, Addresses: []string{netip.PrefixFrom(m.Address, subnet.Bits()).String()},
		Routes: []route{{"0.0.0.0/0", b.v.Addresses.Gateway}},
	}
	if servers := b.v.Addresses.Nameservers; len(servers) > 0 {
		nic.Nameservers = map[string][]string{"addresses": slices.Clone(servers)}
	}
	metadata, err := json.Marshal(map[string]any{
		"instance-id": m.Name, "local-hostname": m.Name,
		"network": map[string]any{"version": 2, "ethernets": map[string]card{"nic0": nic}},
	})
	if err != nil {
		return nil, fmt.Errorf("metadata of %s: %w", m.Name, err)
	}
	encode := func(data []byte) pulumi.String { return pulumi.String(base64.StdEncoding.EncodeToString(data)) }
	return pulumi.StringMap{
		"guestinfo.metadata": encode(metadata), "guestinfo.metadata.encoding": pulumi.String("base64"),
		"guestinfo.userdata": encode([]byte(layout.CloudConfig(m, etcdDisk, b.c.LoginKey))), "guestinfo.userdata.encoding": pulumi.String("base64"),
		AddressKey: pulumi.String(m.Address.String()),
	}, nil
}
