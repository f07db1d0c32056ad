// Package gcp is the program that makes a cluster's machines on GCP: what it registers is what
// there must be.
package gcp

import (
	"clusterctl/provision/cloud/ask"
	"clusterctl/provision/cloud/layout"
	"clusterctl/provision/spec"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const (
	// Version is that of the provider plugin.
	Version = "9.6.0"
	// MachineType is what a host is here.
	MachineType = "gcp:compute/instance:Instance"
	// clusterLabel says whose a thing is.
	clusterLabel = "clusterctl-cluster"
)

// builder is one run of the program.
type builder struct {
	*ask.Cloud
	c    layout.Cluster
	g    *spec.GCP
	name string // the cluster's

	network, subnetwork pulumi.StringInput
	accounts            map[layout.Peer]pulumi.StringInput // service accounts of the hosts, and the bastion's
	ready               []pulumi.Resource
	addresses           map[string]pulumi.StringInput // public ones, of hosts that have one
	controlPlanes       map[string][]pulumi.StringInput
}

// Program gives the program for a cluster whose spec names GCP.
func Program(c layout.Cluster) pulumi.RunFunc {
	return func(ctx *pulumi.Context) error {
		g := c.Spec.Spec.Provider.GCP
		asked, err := ask.Begin(ctx, "gcp", Version, pulumi.Map{"project": pulumi.String(g.Project), "region": pulumi.String(g.Region)})
		if err != nil {
			return err
		}
		b := &builder{
			Cloud: asked, c: c, g: g, name: c.Spec.Metadata.Name,
			accounts: map[layout.Peer]pulumi.StringInput{}, controlPlanes: map[string][]pulumi.StringInput{},
		}
		for _, step := range []func() error{b.look, b.networks, b.serviceAccounts, b.firewall, b.machines, b.balancer} {
			if err := step(); err != nil {
				return err
			}
		}
		return nil
	}
}

func (b *builder) labels() pulumi.StringMap {
	out := pulumi.StringMap{clusterLabel: pulumi.String(b.name)}
	for k, v := range b.g.Tags {
		out[k] = pulumi.String(v)
	}
	return out
}

// long is the cluster's name with a part's: names in a project are given once.
func (b *builder) long(part string) string { return b.name + "-" + part }

// networks makes the network with one subnetwork and a way out, or takes the existing ones.
func (b *builder) networks() error {
	if n := b.g.Network; n.Name != "" {
		b.network, b.subnetwork = pulumi.String(n.Name), pulumi.String(n.Subnetwork)
		return nil
	}
	network, err := b.Make(networkType, b.name, networkArgs{Name: pulumi.String(b.name), AutoCreateSubnetworks: pulumi.Bool(false)})
	if err != nil {
		return err
	}
	b.network = network.SelfLink
	subnetwork, err := b.Make(subnetworkType, b.name, subnetworkArgs{
		Name: pulumi.String(b.name), Network: b.network, Region: pulumi.String(b.g.Region), IpCidrRange: pulumi.String(b.g.Network.CIDR),
	})
	if err != nil {
		return err
	}
	b.subnetwork = subnetwork.SelfLink
	if b.g.Network.NAT == "none" || b.g.Access.SSH == "public" {
		return nil
	}
	router, err := b.Make(routerType, b.name, routerArgs{Name: pulumi.String(b.name), Network: b.network, Region: pulumi.String(b.g.Region)})
	if err != nil {
		return err
	}
	nat, err := b.Make(routerNatType, b.name, routerNatArgs{
		Name: pulumi.String(b.name), Router: router.Name, Region: pulumi.String(b.g.Region), NatIpAllocateOption: pulumi.String("AUTO_ONLY"),
		SourceSubnetworkIpRangesToNat: pulumi.String("ALL_SUBNETWORKS_ALL_IP_RANGES"),
	})
	b.ready = append(b.ready, nat)
	return err
}

// parts are the peers that have a service account, with its name.
func (b *builder) parts() map[layout.Peer]string {
	out := map[layout.Peer]string{layout.ControlPlanes: "cp", layout.Workers: "worker"}
	if b.g.Access.SSH == "bastion" {
		out[layout.Bastion] = "jump"
	}
	return out
}

// roles of control planes: what the cloud controller and the disk driver need. Others have none.
func roles() []string {
	return []string{"roles/compute.loadBalancerAdmin", "roles/compute.storageAdmin", "roles/compute.viewer"}
}

// serviceAccounts are who the machines are, for the firewall and for Google's APIs.
func (b *builder) serviceAccounts() error {
	for _, peer := range []layout.Peer{layout.ControlPlanes, layout.Workers, layout.Bastion} {
		part, ok := b.parts()[peer]
		if !ok {
			continue
		}
		account, err := b.Make(accountType, b.long(part), accountArgs{AccountId: pulumi.String(b.long(part)), DisplayName: pulumi.String("clusterctl: " + string(peer) + " of " + b.name)})
		if err != nil {
			return err
		}
		b.accounts[peer] = account.Email
	}
	for _, role := range roles() {
		_, err := b.Make(memberType, b.long("cp-"+role), memberArgs{
			Project: pulumi.String(b.g.Project), Role: pulumi.String(role), Member: pulumi.Sprintf("serviceAccount:%s", b.accounts[layout.ControlPlanes]),
		})
		if err != nil {
			return err
		}
	}
	return nil
}
