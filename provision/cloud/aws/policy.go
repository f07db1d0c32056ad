package aws

import (
	"encoding/json"
	"strings"
)

// document is an IAM policy (IAM User Guide, Grammar of the IAM JSON policy language).
type document struct {
	Version   string      `json:"Version"`
	Statement []statement `json:"Statement"`
}

type statement struct {
	Sid       string                       `json:"Sid,omitempty"`
	Effect    string                       `json:"Effect"`
	Principal map[string]string            `json:"Principal,omitempty"`
	Action    []string                     `json:"Action"`
	Resource  string                       `json:"Resource,omitempty"`
	Condition map[string]map[string]string `json:"Condition,omitempty"`
}

func (d document) text() string {
	d.Version = "2012-10-17"
	out, err := json.Marshal(d)
	if err != nil { // texts and lists: cannot fail
		panic(err)
	}
	return string(out)
}

// assumedByInstances lets EC2 instances, and nobody else, have a role.
func assumedByInstances() document {
	return document{Statement: []statement{{
		Effect: "Allow", Principal: map[string]string{"Service": "ec2.amazonaws.com"}, Action: []string{"sts:AssumeRole"},
	}}}
}

// controlPlanePolicy is what the cloud controller manager and the controller of the EBS CSI driver
// do (cloud-provider-aws, docs/prerequisites.md, and what its controllers for nodes and Services call; it
// makes no routes here; aws-ebs-csi-driver, docs/example-iam-policy.json).
// What exists may only be changed when it carries the cluster's tag.
func controlPlanePolicy(cluster, region string) document {
	owned := map[string]map[string]string{"StringEquals": {"aws:ResourceTag/" + ownedTag(cluster): "owned"}}
	made := map[string]map[string]string{"StringEquals": {"aws:RequestTag/" + ownedTag(cluster): "owned"}}
	ours := map[string]map[string]string{"StringEquals": {"aws:ResourceTag/" + clusterTag: cluster}}
	return document{Statement: []statement{
		{Sid: "Look", Effect: "Allow", Resource: "*", Action: []string{
			"ec2:DescribeAvailabilityZones", "ec2:DescribeInstances", "ec2:DescribeInstanceTopology", "ec2:DescribeInstanceTypes", "ec2:DescribeRegions",
			"ec2:DescribeRouteTables", "ec2:DescribeSecurityGroups", "ec2:DescribeSnapshots", "ec2:DescribeSubnets", "ec2:DescribeTags",
			"ec2:DescribeVolumes", "ec2:DescribeVolumesModifications", "ec2:DescribeVolumeStatus", "ec2:DescribeVpcs",
			"elasticloadbalancing:DescribeListeners", "elasticloadbalancing:DescribeLoadBalancerAttributes", "elasticloadbalancing:DescribeLoadBalancerPolicies",
			"elasticloadbalancing:DescribeLoadBalancers", "elasticloadbalancing:DescribeTargetGroupAttributes", "elasticloadbalancing:DescribeTargetGroups",
			"elasticloadbalancing:DescribeTargetHealth",
		}},
		{Sid: "MakeTagged", Effect: "Allow", Resource: "*", Condition: made, Action: []string{
			"ec2:CreateSecurityGroup", "ec2:CreateSnapshot", "ec2:CreateVolume",
			"elasticloadbalancing:CreateLoadBalancer", "elasticloadbalancing:CreateTargetGroup",
		}},
		// A group is made in a network, which a request does not tag.
		{Sid: "InNetworks", Effect: "Allow", Resource: "arn:" + partition(region) + ":ec2:*:*:vpc/*", Action: []string{"ec2:CreateSecurityGroup"}},
		{Sid: "TagWhatIsMade", Effect: "Allow", Resource: "*", Condition: made, Action: []string{"ec2:CreateTags", "elasticloadbalancing:AddTags"}},
		// Load balancers reach node ports of hosts, whose groups are the tool's own.
		{Sid: "OpenHosts", Effect: "Allow", Resource: "*", Condition: ours, Action: []string{"ec2:AuthorizeSecurityGroupIngress", "ec2:RevokeSecurityGroupIngress"}},
		// A snapshot is made of a volume and a volume of a snapshot: neither carries the request's tags.
		{Sid: "CopyOwned", Effect: "Allow", Resource: "*", Condition: owned, Action: []string{"ec2:CreateSnapshot", "ec2:CreateVolume"}},
		{Sid: "ChangeOwned", Effect: "Allow", Resource: "*", Condition: owned, Action: append([]string{
			"ec2:AttachVolume", "ec2:AuthorizeSecurityGroupIngress", "ec2:DeleteSecurityGroup", "ec2:DeleteSnapshot", "ec2:DeleteVolume",
			"ec2:DetachVolume", "ec2:ModifyVolume", "ec2:RevokeSecurityGroupIngress",
		}, changesOfBalancers()...)},
	}}
}

// changesOfBalancers are those of load balancers of both kinds, classic and network.
func changesOfBalancers() []string {
	var out []string
	for _, action := range []string{
		"ApplySecurityGroupsToLoadBalancer", "AttachLoadBalancerToSubnets", "ConfigureHealthCheck", "CreateListener", "CreateLoadBalancerListeners",
		"CreateLoadBalancerPolicy", "DeleteListener", "DeleteLoadBalancer", "DeleteLoadBalancerListeners", "DeleteTargetGroup",
		"DeregisterInstancesFromLoadBalancer", "DeregisterTargets", "DetachLoadBalancerFromSubnets", "ModifyListener", "ModifyLoadBalancerAttributes",
		"ModifyTargetGroup", "ModifyTargetGroupAttributes", "RegisterInstancesWithLoadBalancer", "RegisterTargets", "SetLoadBalancerPoliciesForBackendServer",
		"SetLoadBalancerPoliciesOfListener", "SetSecurityGroups",
	} {
		out = append(out, "elasticloadbalancing:"+action)
	}
	return out
}

// partition is the part of AWS that a region is in (IAM User Guide, "Amazon Resource Names").
func partition(region string) string {
	switch {
	case strings.HasPrefix(region, "cn-"):
		return "aws-cn"
	case strings.HasPrefix(region, "us-gov-"):
		return "aws-us-gov"
	}
	return "aws"
}

// workerPolicy is what a node asks about itself.
func workerPolicy() document {
	return document{Statement: []statement{{
		Sid: "Look", Effect: "Allow", Resource: "*", Action: []string{"ec2:DescribeInstances", "ec2:DescribeRegions"},
	}}}
}
