package standin

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
)

// outputs is what the cloud tells of a thing: what was asked for, and what it decided itself.
func (w *World) outputs(t Thing) map[string]any {
	out := maps.Clone(t.Inputs)
	if out == nil {
		out = map[string]any{}
	}
	out["arn"], out["selfLink"] = "arn:standin:"+t.ID, "https://standin.example.test/"+t.ID
	sum := sha256.Sum256([]byte(t.ID))
	public := fmt.Sprintf("203.0.113.%d", 1+sum[0]%254)
	switch t.Type {
	case "aws:ec2/instance:Instance":
		if out["associatePublicIpAddress"] == true {
			out["publicIp"] = public
		}
	case "aws:ec2/eip:Eip":
		out["publicIp"], out["allocationId"] = public, t.ID
	case "aws:lb/loadBalancer:LoadBalancer":
		out["dnsName"] = w.told("balancer", fmt.Sprint(out["name"])+"-0123456789.elb.example.test")
	case "gcp:compute/address:Address":
		out["address"] = public
		if strings.HasSuffix(t.Name, "-api") {
			out["address"] = w.told("balancer", public)
		}
	case "gcp:serviceaccount/account:Account":
		out["email"] = fmt.Sprint(out["accountId"]) + "@standin.example.test"
	}
	return out
}

// forces says whether a change of a field means a new thing. The tables are the fields that the
// providers' documentation marks so ("Forces new resource"), of the types that are used.
func forces(typ, field string) bool {
	fields := map[string]string{
		"aws:ec2/instance:Instance":                           "ami availabilityZone subnetId privateIp keyName rootBlockDevice ebsBlockDevices associatePublicIpAddress",
		"aws:ec2/vpc:Vpc":                                     "cidrBlock",
		"aws:ec2/subnet:Subnet":                               "cidrBlock availabilityZone vpcId",
		"aws:ec2/keyPair:KeyPair":                             "keyName publicKey",
		"aws:ec2/securityGroup:SecurityGroup":                 "name description vpcId",
		"aws:ec2/natGateway:NatGateway":                       "allocationId subnetId",
		"aws:ec2/subnetCidrReservation:SubnetCidrReservation": "cidrBlock subnetId",
		"aws:lb/loadBalancer:LoadBalancer":                    "name internal loadBalancerType",
		"aws:lb/targetGroup:TargetGroup":                      "name port protocol targetType vpcId",
		"aws:lb/targetGroupAttachment:TargetGroupAttachment":  "targetGroupArn targetId",
		"aws:iam/role:Role":                                   "name",
		"gcp:compute/instance:Instance":                       "name zone bootDisk networkInterfaces metadataStartupScript",
		"gcp:compute/network:Network":                         "name autoCreateSubnetworks",
		"gcp:compute/subnetwork:Subnetwork":                   "name network region ipCidrRange",
		"gcp:compute/disk:Disk":                               "name zone type",
		"vsphere:index/virtualMachine:VirtualMachine":         "clone",
	}[typ]
	for f := range strings.FieldsSeq(fields) {
		if f == field {
			return true
		}
	}
	return false
}

// lists are the look-ups by tag: what type each is of, and what its answer is called.
func lists() map[string][2]string {
	return map[string][2]string{
		"aws:ec2/getInstances:getInstances":                   {"aws:ec2/instance:Instance", "ids"},
		"aws:ec2/getVpcs:getVpcs":                             {"aws:ec2/vpc:Vpc", "ids"},
		"aws:ec2/getSubnets:getSubnets":                       {"aws:ec2/subnet:Subnet", "ids"},
		"aws:ec2/getSecurityGroups:getSecurityGroups":         {"aws:ec2/securityGroup:SecurityGroup", "ids"},
		"aws:ec2/getRouteTables:getRouteTables":               {"aws:ec2/routeTable:RouteTable", "ids"},
		"aws:ec2/getNatGateways:getNatGateways":               {"aws:ec2/natGateway:NatGateway", "ids"},
		"aws:ec2/getEips:getEips":                             {"aws:ec2/eip:Eip", "allocationIds"},
		"aws:ebs/getEbsVolumes:getEbsVolumes":                 {"aws:ebs/volume:Volume", "ids"},
		"aws:lb/getLbs:getLbs":                                {"aws:lb/loadBalancer:LoadBalancer", "arns"},
		"aws:vpc/getSecurityGroupRules:getSecurityGroupRules": {"aws:vpc/securityGroup", "ids"}, // in and out,
		"aws:ec2/getInternetGateway:getInternetGateway":       {"aws:ec2/internetGateway:InternetGateway", "internetGatewayId"},
	}
}

// Invoke answers look-ups. Arguments that the real provider does not have are refused.
func (c *cloud) Invoke(_ context.Context, r plugin.InvokeRequest) (plugin.InvokeResponse, error) {
	tok := string(r.Tok)
	if _, err := c.begin("invoke", "", tok); err != nil {
		return plugin.InvokeResponse{}, err
	}
	args := plain(r.Args)
	if c.fields != nil {
		if bad := c.fields.Problems(tok, args); len(bad) > 0 {
			return plugin.InvokeResponse{}, fmt.Errorf("%s: %s: %s", tok, bad[0].Field, bad[0].Text)
		}
	}
	switch tok {
	case "aws:ec2/getAmi:getAmi":
		return answer(map[string]any{"id": c.world.told("newest-image", "ami-0000000000000000a")})
	case "gcp:compute/getImage:getImage":
		return answer(map[string]any{"name": c.world.told("newest-image", "debian-12-v1")})
	case "aws:resourcegroupstaggingapi/getResources:getResources":
		return c.balancers(args)
	}
	list, ok := lists()[tok]
	if !ok {
		return c.named(tok, args)
	}
	tags, _ := args["tags"].(map[string]any)
	if by, ok := args["instanceTags"].(map[string]any); ok {
		tags = by
	}
	found, err := c.world.tagged(list[0], tags)
	if err != nil {
		return plugin.InvokeResponse{}, err
	}
	ids := []any{}
	for _, t := range found {
		id := t.ID
		if list[1] == "arns" {
			id = fmt.Sprint(t.Outputs["arn"])
		}
		ids = append(ids, id)
	}
	if list[1] != "internetGatewayId" {
		return answer(map[string]any{"id": "found", list[1]: ids})
	}
	if len(found) != 1 {
		return plugin.InvokeResponse{}, fmt.Errorf("no matching EC2 Internet Gateway found: there are %d", len(found))
	}
	return answer(map[string]any{list[1]: found[0].ID, "tags": found[0].Inputs["tags"]})
}

// balancers tells of load balancers by a tag, classic ones as well as the newer kinds.
func (c *cloud) balancers(args map[string]any) (plugin.InvokeResponse, error) {
	tags := map[string]any{}
	filters, _ := args["tagFilters"].([]any)
	for _, f := range filters {
		filter := f.(map[string]any)
		tags[fmt.Sprint(filter["key"])] = filter["values"].([]any)[0]
	}
	list := []any{}
	for typ, kind := range map[string]string{"aws:elb/loadBalancer:LoadBalancer": "", "aws:lb/loadBalancer:LoadBalancer": "net/"} {
		found, err := c.world.tagged(typ, tags)
		if err != nil {
			return plugin.InvokeResponse{}, err
		}
		for _, t := range found {
			list = append(list, map[string]any{"resourceArn": "arn:aws:elasticloadbalancing:eu-central-1:000000000000:loadbalancer/" + kind + t.name()})
		}
	}
	return answer(map[string]any{"resourceTagMappingLists": list})
}

// named answers a look-up by name, such as gcp:compute/getDisk:getDisk. Where a vCenter has a template
// and the places for machines, the world need not have them.
func (c *cloud) named(tok string, args map[string]any) (plugin.InvokeResponse, error) {
	what := tok[strings.LastIndex(tok, ":get")+len(":get"):]
	typ := tok[:strings.Index(tok, "/get")] + "/" + strings.ToLower(what[:1]) + what[1:] + ":" + what
	name := Thing{Type: typ, Inputs: args}.name()
	if what == "Folder" {
		name = strings.TrimPrefix(name, "/dc-1/vm/") // folders are made below a datacenter's root
	}
	t, ok, err := c.world.called(typ, name)
	if err != nil {
		return plugin.InvokeResponse{}, err
	}
	if ok {
		out := maps.Clone(t.Outputs)
		out["id"] = t.ID
		return answer(out)
	}
	switch {
	case what == "Folder":
	case what == "VirtualMachine" && args["folder"] == nil: // the template
		return answer(map[string]any{"id": c.world.told("newest-image", "template-1"), "guestId": "debian12_64Guest", "networkInterfaceTypes": []any{"vmxnet3"}})
	case strings.HasPrefix(tok, "vsphere:") && what != "VirtualMachine":
		return answer(map[string]any{"id": what + " " + name, "resourcePoolId": "pool of " + name})
	}
	return plugin.InvokeResponse{}, fmt.Errorf("%s %s was not found", what, name)
}

// told is what a test wrote into a file of the world, or else the usual.
func (w *World) told(name, usual string) string {
	data, err := os.ReadFile(filepath.Join(w.Dir, name))
	if err != nil {
		return usual
	}
	return strings.TrimSpace(string(data))
}

func answer(m map[string]any) (plugin.InvokeResponse, error) {
	return plugin.InvokeResponse{Properties: resource.NewPropertyMapFromMap(m)}, nil
}
