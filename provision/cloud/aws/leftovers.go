package aws

import (
	"slices"

	"clusterctl/provision/cloud/layout"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// leftover is what Kubernetes' controllers make, and how it is found.
type leftover struct {
	what string
	by   lookup
}

func leftovers() []leftover {
	return []leftover{
		{"load balancer", lookup{"aws:lb/getLbs:getLbs", "tags", "arns"}},
		{"volume", lookup{"aws:ebs/getEbsVolumes:getEbsVolumes", "tags", "ids"}},
		{"security group", lookup{"aws:ec2/getSecurityGroups:getSecurityGroups", "tags", "ids"}},
	}
}

// Leftovers is a program that finds what Kubernetes' controllers made for a cluster: load
// balancers of Services with their security groups, and volumes. They carry the cluster's tag as
// owner and not ours. It asks for nothing.
func Leftovers(c layout.Cluster, found *[]string) pulumi.RunFunc {
	return func(ctx *pulumi.Context) error {
		b, err := begin(ctx, c)
		if err != nil {
			return err
		}
		owned, ours := map[string]string{ownedTag(b.name): "owned"}, map[string]string{clusterTag: b.name}
		for _, look := range leftovers() {
			theirs, err := b.find(look.by, owned)
			if err != nil {
				return err
			}
			mine, err := b.find(look.by, ours)
			if err != nil {
				return err
			}
			for _, id := range theirs {
				if !slices.Contains(mine, id) {
					*found = append(*found, look.what+" "+id)
				}
			}
		}
		return nil
	}
}
