package ask

import (
	"clusterctl/provision/cloud/layout"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// Cloud is one run of a program: what it asks for goes to one provider's plugin.
type Cloud struct {
	*pulumi.Context
	// Adopt has the ids of things that are there and not in the state, by type and name.
	Adopt map[string]string

	provider pulumi.ProviderResource
	version  string
}

// Begin registers an explicit provider, so that everything of a cluster is where the spec says,
// whatever the environment does. args never hold credentials: the plugin takes them as the cloud's own
// tools do, and nothing of them is stored.
func Begin(ctx *pulumi.Context, plugin, version string, args pulumi.Map) (*Cloud, error) {
	var p struct{ pulumi.ProviderResourceState }
	if err := ctx.RegisterResource("pulumi:providers:"+plugin, plugin, args, &p, pulumi.Version(version)); err != nil {
		return nil, err
	}
	return &Cloud{Context: ctx, Adopt: map[string]string{}, provider: &p, version: version}, nil
}

// Make asks for a thing; see Register. One that Adopt has is taken over.
func (c *Cloud) Make(typ, name string, args any, opts ...pulumi.ResourceOption) (*Made, error) {
	opts = append(opts, pulumi.Provider(c.provider), pulumi.Version(c.version))
	if id := c.Adopt[typ+" "+name]; id != "" {
		opts = append(opts, pulumi.Import(pulumi.ID(id)))
	}
	return Register(c.Context, typ, name, args, opts...)
}

// Look calls a function of the provider. out is a pointer to a map or to a struct with pulumi tags.
func (c *Cloud) Look(function string, args map[string]any, out any) error {
	return c.Invoke(function, args, out, pulumi.Provider(c.provider), pulumi.Version(c.version))
}

// Host gives the component around a host's machine and what belongs to it alone.
func (c *Cloud) Host(name string) (pulumi.Resource, error) {
	var around struct{ pulumi.ResourceState }
	err := c.RegisterComponentResource(layout.HostType, name, &around)
	return &around, err
}
