package standin

import (
	"context"
	"fmt"
	"path/filepath"
)

// RealFields gives the fields of a provider's types and functions, so that a stand-in refuses any
// other: out of the source of its typed SDK, in the version that the module in dir asks for, or for
// vSphere, whose SDK is not to be had as a Go module, out of VSphereFields.
func RealFields(ctx context.Context, dir, pkg string, tokens []string) (Fields, error) {
	module, ok := map[string]string{"aws": "github.com/pulumi/pulumi-aws/sdk/v6", "gcp": "github.com/pulumi/pulumi-gcp/sdk/v9"}[pkg]
	if ok {
		root, err := sdk(ctx, dir, module)
		if err != nil {
			return nil, err
		}
		return FieldsOfSDK(filepath.Join(root, "go", pkg), tokens)
	}
	all, out := VSphereFields(), Fields{}
	for _, tok := range tokens {
		if out[tok], ok = all[tok]; !ok {
			return nil, fmt.Errorf("the stand-in for %s has no fields of %s", pkg, tok)
		}
	}
	return out, nil
}

// VSphereFields is what the published schema of pulumi-vsphere 4.16 says of the types and functions
// that a cluster may need, and of the inputs that such machines have. It is written apart from the
// program, so that a name which is misspelt in one of them is found.
func VSphereFields() Fields {
	text, number, yes := Field{Kind: "string"}, Field{Kind: "number"}, Field{Kind: "bool"}
	list := func(of Field) Field { return Field{Kind: "list", Of: &of} }
	texts := Field{Kind: "map", Of: &text}
	object := func(fields map[string]Field) Field { return Field{Kind: "object", Fields: fields} }
	named := func(more ...string) map[string]Field {
		out := map[string]Field{"name": text}
		for _, m := range more {
			out[m] = text
		}
		return out
	}
	return Fields{
		"vsphere:index/folder:Folder": {"path": text, "type": text, "datacenterId": text, "tags": list(text), "customAttributes": texts},
		"vsphere:index/computeClusterVmAntiAffinityRule:ComputeClusterVmAntiAffinityRule": {
			"computeClusterId": text, "virtualMachineIds": list(text), "name": text, "enabled": yes, "mandatory": yes,
		},
		"vsphere:index/virtualMachine:VirtualMachine": {
			"name": text, "folder": text, "resourcePoolId": text, "datastoreId": text, "datastoreClusterId": text, "hostSystemId": text,
			"numCpus": number, "numCoresPerSocket": number, "memory": number, "guestId": text, "firmware": text, "scsiType": text,
			"enableDiskUuid": yes, "annotation": text, "tags": list(text), "customAttributes": texts, "extraConfig": texts,
			"waitForGuestNetTimeout": number, "waitForGuestIpTimeout": number, "waitForGuestNetRoutable": yes, "poweronTimeout": number,
			"clone":             object(map[string]Field{"templateUuid": text, "linkedClone": yes, "timeout": number}),
			"networkInterfaces": list(object(map[string]Field{"networkId": text, "adapterType": text, "macAddress": text, "useStaticMac": yes})),
			"disks": list(object(map[string]Field{
				"label": text, "size": number, "unitNumber": number, "thinProvisioned": yes, "datastoreId": text,
			})),
		},
		"vsphere:index/getDatacenter:getDatacenter":             named(),
		"vsphere:index/getDatastore:getDatastore":               named("datacenterId"),
		"vsphere:index/getDatastoreCluster:getDatastoreCluster": named("datacenterId"),
		"vsphere:index/getFolder:getFolder":                     {"path": text},
		"vsphere:index/getNetwork:getNetwork":                   named("datacenterId", "distributedVirtualSwitchUuid"),
		"vsphere:index/getResourcePool:getResourcePool":         named("datacenterId", "parentResourcePoolId"),
		"vsphere:index/getComputeCluster:getComputeCluster":     named("datacenterId"),
		"vsphere:index/getVirtualMachine:getVirtualMachine":     named("datacenterId", "folder", "uuid", "moid"),
	}
}
