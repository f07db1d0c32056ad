// Package aws is the program that makes a cluster's machines on AWS: what it registers is what
// there must be. It decides nothing about order; the engine derives that from who needs whom.
package aws

import (
	"clusterctl/provision/cloud/ask"
	"clusterctl/provision/cloud/layout"
	"clusterctl/provision/spec"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const (
	// Version is that of the provider plugin.
	Version = "6.83.4"
	// MachineType is what a host is here.
	MachineType = "aws:ec2/instance:Instance"
	// clusterTag says whose a thing is.
	clusterTag = "clusterctl/cluster"
)

// builder is one run of the program.
type builder struct {
	*ask.Cloud
	c    layout.Cluster
	a    *spec.AWS
	name string // the cluster's

	vpc    pulumi.StringInput
	hosts  []pulumi.StringInput // subnets by zone
	edges  []pulumi.StringInput
	groups map[layout.Peer]*ask.Made
	ready  []pulumi.Resource // what hosts need to reach the outside

	gateways map[string]*ask.Made
}

// Program gives the program for a cluster whose spec names AWS.
func Program(c layout.Cluster) pulumi.RunFunc {
	return func(ctx *pulumi.Context) error {
		b, err := begin(ctx, c)
		if err != nil {
			return err
		}
		for _, step := range []func() error{b.look, b.network, b.reserve, b.securityGroups, b.machines} {
			if err := step(); err != nil {
				return err
			}
		}
		return nil
	}
}

func begin(ctx *pulumi.Context, c layout.Cluster) (*builder, error) {
	a := c.Spec.Spec.Provider.AWS
	asked, err := ask.Begin(ctx, "aws", Version, pulumi.Map{"region": pulumi.String(a.Region)})
	return &builder{Cloud: asked, c: c, a: a, name: c.Spec.Metadata.Name, groups: map[layout.Peer]*ask.Made{}, gateways: map[string]*ask.Made{}}, err
}

// tags are on everything that takes tags.
func (b *builder) tags(name string) pulumi.StringMap {
	out := pulumi.StringMap{"Name": pulumi.String(name), clusterTag: pulumi.String(b.name), ownedTag(b.name): pulumi.String("owned")}
	for k, v := range b.a.Tags {
		out[k] = pulumi.String(v)
	}
	return out
}

// ownedTag is the tag that Kubernetes' cloud controller looks for.
func ownedTag(cluster string) string { return "kubernetes.io/cluster/" + cluster }

// long is the cluster's name with a part's, for what has a name of its own.
func (b *builder) long(part string) string { return b.name + "-" + part }
