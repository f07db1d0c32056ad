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
	ctx   *pulumi.Context
	c     layout.Cluster
	a     *spec.AWS
	name  string // the cluster's
	cloud pulumi.ProviderResource
	seen  seen

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
		b := &builder{ctx: ctx, c: c, a: c.Spec.Spec.Provider.AWS, name: c.Spec.Metadata.Name, groups: map[layout.Peer]*ask.Made{}, gateways: map[string]*ask.Made{}}
		for _, step := range []func() error{b.provider, b.look, b.network, b.reserve, b.securityGroups, b.machines} {
			if err := step(); err != nil {
				return err
			}
		}
		return nil
	}
}

// provider is an explicit one, so that everything of the cluster is in the spec's region, whatever
// the environment says. Credentials are not given to it: the plugin takes them as the AWS tools do,
// and nothing of them is stored.
func (b *builder) provider() error {
	var p struct{ pulumi.ProviderResourceState }
	err := b.ctx.RegisterResource("pulumi:providers:aws", "aws", pulumi.Map{"region": pulumi.String(b.a.Region)}, &p, pulumi.Version(Version))
	b.cloud = &p
	return err
}

// make asks for a thing. One that is there already, made by a run that was cut off, is adopted.
func (b *builder) make(kind, name string, args any, opts ...pulumi.ResourceOption) (*ask.Made, error) {
	opts = append(opts, pulumi.Provider(b.cloud), pulumi.Version(Version))
	if id := b.seen.adopt[kind+" "+name]; id != "" {
		opts = append(opts, pulumi.Import(pulumi.ID(id)))
	}
	return ask.Register(b.ctx, kind, name, args, opts...)
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
