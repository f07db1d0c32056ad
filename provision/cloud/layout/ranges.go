package layout

import (
	"errors"
	"fmt"
	"net/netip"

	"clusterctl/provision/inventory"
	"clusterctl/provision/spec"
)

// Ranges gives the addresses that hosts may have, by zone.
func Ranges(s *spec.Cluster) ([]netip.Prefix, error) {
	switch p := s.Spec.Provider; {
	case p.AWS != nil:
		return awsRanges(p.AWS)
	case p.GCP != nil:
		return gcpRanges(p.GCP)
	case p.VSphere != nil:
		r, err := netip.ParsePrefix(p.VSphere.Addresses.HostCIDR)
		return []netip.Prefix{r}, err
	}
	return nil, errors.New("spec.provider names no cloud")
}

// Plan lists the machines of a spec with their addresses; those of have keep theirs.
func Plan(s *spec.Cluster, have map[string]netip.Addr) ([]Machine, error) {
	ranges, err := Ranges(s)
	if err != nil {
		return nil, err
	}
	machines := Machines(s, len(ranges))
	return machines, Allocate(machines, ranges, have)
}

// Planned is the inventory of a cluster that does not exist yet.
func Planned(s *spec.Cluster) (inventory.Inventory, error) {
	machines, err := Plan(s, nil)
	return Inventory(s, machines, Outputs{}, Login{}), err
}

// awsRanges gives the part of each zone's subnet that hosts take their addresses from: the second
// quarter of a subnet that is made, so that what AWS itself puts there stays apart.
func awsRanges(a *spec.AWS) ([]netip.Prefix, error) {
	out := make([]netip.Prefix, len(a.Zones))
	for i, zone := range a.Zones {
		if a.Network.VPCID == "" {
			subnet, err := AWSHostSubnet(a, i)
			if err != nil {
				return nil, err
			}
			out[i] = Part(subnet, 2, 1)
			continue
		}
		s, err := AWSSubnet(a, zone)
		if err != nil {
			return nil, err
		}
		if out[i], err = netip.ParsePrefix(s.HostCIDR); err != nil {
			return nil, fmt.Errorf("host range of subnet %s: %w", s.ID, err)
		}
	}
	return out, nil
}

// AWSHostSubnet is a sixteenth of the VPC, one for each zone; the last sixteenth is left for edges.
func AWSHostSubnet(a *spec.AWS, zone int) (netip.Prefix, error) {
	vpc, err := netip.ParsePrefix(a.Network.CIDR)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("spec.provider.aws.network.cidr: %w", err)
	}
	return Part(vpc, 4, zone), nil
}

// AWSEdgeSubnet has the load balancer, the NAT gateway and the bastion: a sixteenth of the last
// sixteenth of the VPC, one for each zone.
func AWSEdgeSubnet(a *spec.AWS, zone int) (netip.Prefix, error) {
	vpc, err := netip.ParsePrefix(a.Network.CIDR)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("spec.provider.aws.network.cidr: %w", err)
	}
	return Part(Part(vpc, 4, 15), 4, zone), nil
}

// AWSSubnet gives the existing subnet of a zone.
func AWSSubnet(a *spec.AWS, zone string) (spec.AWSSubnet, error) {
	for _, s := range a.Network.Subnets {
		if s.Zone == zone {
			return s, nil
		}
	}
	return spec.AWSSubnet{}, fmt.Errorf("spec.provider.aws.network.subnets: there is none in zone %s", zone)
}

// gcpRanges gives the same range for each zone, since a subnetwork is a region's: the second
// quarter of one that is made, so that what Google itself puts there stays apart.
func gcpRanges(g *spec.GCP) ([]netip.Prefix, error) {
	text, made := g.Network.CIDR, g.Network.Name == ""
	if !made {
		text = g.Network.HostCIDR
	}
	r, err := netip.ParsePrefix(text)
	if err != nil {
		return nil, fmt.Errorf("spec.provider.gcp.network: %w", err)
	}
	if made {
		r = Part(r, 2, 1)
	}
	out := make([]netip.Prefix, len(g.Zones))
	for i := range out {
		out[i] = r
	}
	return out, nil
}
