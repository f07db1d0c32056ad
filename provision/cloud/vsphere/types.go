package vsphere

import (
	"maps"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// The inputs of the types that are used, by the names of the provider's published schema
// (pulumi-vsphere, version Version).
type (
	folderArgs struct {
		Path         pulumi.StringInput `pulumi:"path"`
		Type         pulumi.StringInput `pulumi:"type"`
		DatacenterId pulumi.StringInput `pulumi:"datacenterId"`
	}
	virtualMachineArgs struct {
		Name                   pulumi.StringInput `pulumi:"name"`
		Folder                 pulumi.StringInput `pulumi:"folder"`
		ResourcePoolId         pulumi.StringInput `pulumi:"resourcePoolId"`
		DatastoreId            pulumi.StringInput `pulumi:"datastoreId"`
		DatastoreClusterId     pulumi.StringInput `pulumi:"datastoreClusterId"`
		NumCpus                pulumi.IntInput    `pulumi:"numCpus"`
		Memory                 pulumi.IntInput    `pulumi:"memory"` // MB
		GuestId                pulumi.StringInput `pulumi:"guestId"`
		Firmware               pulumi.StringInput `pulumi:"firmware"`
		ScsiType               pulumi.StringInput `pulumi:"scsiType"`
		EnableDiskUuid         pulumi.BoolInput   `pulumi:"enableDiskUuid"`
		Annotation             pulumi.StringInput `pulumi:"annotation"`
		NetworkInterfaces      []networkInterface `pulumi:"networkInterfaces"`
		Disks                  []disk             `pulumi:"disks"`
		Clone                  *clone             `pulumi:"clone"`
		ExtraConfig            pulumi.StringMap   `pulumi:"extraConfig"`
		WaitForGuestNetTimeout pulumi.IntInput    `pulumi:"waitForGuestNetTimeout"`
	}
	networkInterface struct {
		NetworkId   pulumi.StringInput `pulumi:"networkId"`
		AdapterType pulumi.StringInput `pulumi:"adapterType"`
	}
	disk struct {
		Label           pulumi.StringInput `pulumi:"label"`
		Size            pulumi.IntInput    `pulumi:"size"` // GB
		UnitNumber      pulumi.IntInput    `pulumi:"unitNumber"`
		ThinProvisioned pulumi.BoolInput   `pulumi:"thinProvisioned"`
	}
	clone struct {
		TemplateUuid pulumi.StringInput `pulumi:"templateUuid"`
	}
	ruleArgs struct {
		Name              pulumi.StringInput `pulumi:"name"`
		ComputeClusterId  pulumi.StringInput `pulumi:"computeClusterId"`
		VirtualMachineIds pulumi.StringArray `pulumi:"virtualMachineIds"`
		Enabled           pulumi.BoolInput   `pulumi:"enabled"`
	}
)

// The types' tokens.
const (
	folderType = "vsphere:index/folder:Folder"
	ruleType   = "vsphere:index/computeClusterVmAntiAffinityRule:ComputeClusterVmAntiAffinityRule"
)

// Types are the tokens of all types that are used.
func Types() []string { return slices.Sorted(maps.Keys(Words())) }

// Sought says whether a thing of a type is looked for when its making was cut off.
func Sought(typ string) bool { return typ == MachineType || typ == folderType }

// Functions are the tokens of the look-ups that are used.
func Functions() []string {
	var out []string
	for _, name := range []string{"ComputeCluster", "Datacenter", "Datastore", "DatastoreCluster", "Folder", "Network", "ResourcePool", "VirtualMachine"} {
		out = append(out, function("get"+name))
	}
	return out
}

// function is the token of a look-up, such as getNetwork.
func function(name string) string { return "vsphere:index/" + name + ":" + name }

// Words says what the types are called.
func Words() map[string]string {
	return map[string]string{MachineType: "machine", folderType: "folder", ruleType: "anti-affinity rule"}
}
