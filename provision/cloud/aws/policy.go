package aws

import "encoding/json"

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
// do (cloud-provider-aws, docs/prerequisites.md; aws-ebs-csi-driver, docs/example-iam-policy.json).
// What exists may only be changed when it carries the cluster's tag.
func controlPlanePolicy(cluster string) document {
	owned := map[string]map[string]string{"StringEquals": {"aws:ResourceTag/" + ownedTag(cluster): "owned"}}
	made := map[string]map[string]string{"StringEquals": {"aws:RequestTag/" + ownedTag(cluster): "owned"}}
	return document{Statement: []statement{
		{Sid: "Look", Effect: "Allow", Resource: "*", Action: []string{
			"ec2:DescribeAvailabilityZones", "ec2:DescribeInstances", "ec2:DescribeInstanceTopology", "ec2:DescribeRegions",
			"ec2:DescribeRouteTables", "ec2:DescribeSecurityGroups", "ec2:DescribeSnapshots", "ec2:DescribeSubnets", "ec2:DescribeTags",
			"ec2:DescribeVolumes", "ec2:DescribeVolumesModifications", "ec2:DescribeVpcs",
			"elasticloadbalancing:DescribeListeners", "elasticloadbalancing:DescribeLoadBalancerAttributes",
			"elasticloadbalancing:DescribeLoadBalancers", "elasticloadbalancing:DescribeTargetGroups", "elasticloadbalancing:DescribeTargetHealth",
		}},
		{Sid: "MakeTagged", Effect: "Allow", Resource: "*", Condition: made, Action: []string{
			"ec2:CreateSecurityGroup", "ec2:CreateSnapshot", "ec2:CreateVolume",
			"elasticloadbalancing:CreateLoadBalancer", "elasticloadbalancing:CreateTargetGroup",
		}},
		{Sid: "TagWhatIsMade", Effect: "Allow", Resource: "*", Action: []string{"ec2:CreateTags", "elasticloadbalancing:AddTags"},
			Condition: map[string]map[string]string{"StringEquals": {"aws:RequestTag/" + ownedTag(cluster): "owned"}}},
		{Sid: "ChangeOwned", Effect: "Allow", Resource: "*", Condition: owned, Action: []string{
			"ec2:AttachVolume", "ec2:AuthorizeSecurityGroupIngress", "ec2:CreateRoute", "ec2:DeleteRoute", "ec2:DeleteSecurityGroup",
			"ec2:DeleteSnapshot", "ec2:DeleteVolume", "ec2:DetachVolume", "ec2:ModifyInstanceAttribute", "ec2:ModifyVolume",
			"ec2:RevokeSecurityGroupIngress",
			"elasticloadbalancing:CreateListener", "elasticloadbalancing:DeleteListener", "elasticloadbalancing:DeleteLoadBalancer",
			"elasticloadbalancing:DeleteTargetGroup", "elasticloadbalancing:DeregisterTargets", "elasticloadbalancing:ModifyListener",
			"elasticloadbalancing:ModifyLoadBalancerAttributes", "elasticloadbalancing:ModifyTargetGroup", "elasticloadbalancing:RegisterTargets",
		}},
	}}
}

// workerPolicy is what a node asks about itself.
func workerPolicy() document {
	return document{Statement: []statement{{
		Sid: "Look", Effect: "Allow", Resource: "*", Action: []string{"ec2:DescribeInstances", "ec2:DescribeRegions"},
	}}}
}
