package aws

import (
	"fmt"
	"maps"
	"slices"
	"strings"

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

// taggedFunction finds things of many kinds by their tags, classic load balancers among them, for which
// AWS has no other way. It may tell of those that were just deleted, see classicFunction.
const taggedFunction = "aws:resourcegroupstaggingapi/getResources:getResources"

// classicFunction finds a classic load balancer by its name.
const classicFunction = "aws:elb/getLoadBalancer:getLoadBalancer"

// Leftovers is a program that finds what deleting everything in the state would leave: what Kubernetes'
// controllers made for the cluster (load balancers of Services with their security groups, and volumes,
// which carry the cluster's tag as owner and not ours), and what carries our tag and is not in the state,
// as after a plugin that died. It asks for nothing.
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
		classic, err := b.classicBalancers()
		if err != nil {
			return err
		}
		strays, err := b.strays()
		*found = append(append(*found, classic...), strays...)
		return err
	}
}

// strays are things of ours that the state does not have. Those whose making was cut off are taken over
// before they are deleted.
func (b *builder) strays() ([]string, error) {
	var out []string
	for _, typ := range slices.Sorted(maps.Keys(lookups())) {
		if len(b.c.Seen.Pending[typ]) > 0 {
			continue
		}
		ids, err := b.find(lookups()[typ], map[string]string{clusterTag: b.name})
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			if !slices.Contains(b.c.Seen.IDs, id) {
				out = append(out, Words()[typ]+" "+id+" (made by clusterctl, and not in its state)")
			}
		}
	}
	return out, nil
}

// classicBalancers are the load balancers that the cloud controller makes for Services without an
// annotation.
func (b *builder) classicBalancers() ([]string, error) {
	var out struct {
		Tagged []struct {
			ARN string `pulumi:"resourceArn"`
		} `pulumi:"resourceTagMappingLists"`
	}
	err := b.Look(taggedFunction, map[string]any{
		"tagFilters":          []map[string]any{{"key": ownedTag(b.name), "values": []string{"owned"}}},
		"resourceTypeFilters": []string{"elasticloadbalancing:loadbalancer"},
	}, &out)
	if err != nil {
		return nil, fmt.Errorf("look for load balancers in AWS: %w", err)
	}
	var found []string
	for _, t := range out.Tagged {
		_, name, _ := strings.Cut(t.ARN, ":loadbalancer/")
		if name == "" || strings.Contains(name, "/") { // those of the newer kinds have their kind before the name
			continue
		}
		var there map[string]any
		err := b.Look(classicFunction, map[string]any{"name": name}, &there)
		if err == nil {
			found = append(found, "load balancer "+name)
		} else if !missing(err) {
			return nil, fmt.Errorf("look for the load balancer %s in AWS: %w", name, err)
		}
	}
	return found, nil
}
