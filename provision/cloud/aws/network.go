package aws

import (
	"clusterctl/provision/cloud/ask"
	"clusterctl/provision/cloud/layout"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const everywhere = "0.0.0.0/0"

// network makes the VPC with its subnets and ways out, or takes the existing one.
func (b *builder) network() error {
	if id := b.a.Network.VPCID; id != "" {
		b.vpc = pulumi.String(id)
		for _, zone := range b.a.Zones {
			s, err := layout.AWSSubnet(b.a, zone)
			if err != nil {
				return err
			}
			b.hosts = append(b.hosts, pulumi.String(s.ID))
		}
		for _, id := range b.a.Network.EdgeSubnetIDs {
			b.edges = append(b.edges, pulumi.String(id))
		}
		return nil
	}
	made, err := b.Make(vpcType, b.name, vpcArgs{
		CidrBlock: pulumi.String(b.a.Network.CIDR), EnableDnsHostnames: pulumi.Bool(true), EnableDnsSupport: pulumi.Bool(true), Tags: b.tags(b.name),
	})
	if err != nil {
		return err
	}
	b.vpc = made.ID()
	door, err := b.Make(internetGatewayType, b.name, internetGatewayArgs{VpcId: b.vpc, Tags: b.tags(b.name)})
	if err != nil {
		return err
	}
	if err := b.edgeSubnets(door); err != nil {
		return err
	}
	return b.hostSubnets(door)
}

// edgeSubnets are the public ones.
func (b *builder) edgeSubnets(door *ask.Made) error {
	table, err := b.routeTable("edge", routeArgs{GatewayId: door.ID()})
	if err != nil {
		return err
	}
	for i, zone := range b.a.Zones {
		cidr, err := layout.AWSEdgeSubnet(b.a, i)
		if err != nil {
			return err
		}
		tags := b.tags(b.long("edge-" + zone))
		tags["kubernetes.io/role/elb"] = pulumi.String("1") // for load balancers of Services
		s, err := b.subnet("edge-"+zone, subnetArgs{VpcId: b.vpc, AvailabilityZone: pulumi.String(zone), CidrBlock: pulumi.String(cidr.String()), Tags: tags}, table)
		if err != nil {
			return err
		}
		b.edges = append(b.edges, s.ID())
	}
	return nil
}

// hostSubnets are the private ones, or public where hosts have public addresses.
func (b *builder) hostSubnets(door *ask.Made) error {
	for i, zone := range b.a.Zones {
		cidr, err := layout.AWSHostSubnet(b.a, i)
		if err != nil {
			return err
		}
		out, err := b.wayOut(i, door)
		if err != nil {
			return err
		}
		table, err := b.routeTable("hosts-"+zone, out)
		if err != nil {
			return err
		}
		tags := b.tags(b.long("hosts-" + zone))
		tags["kubernetes.io/role/internal-elb"] = pulumi.String("1")
		s, err := b.subnet("hosts-"+zone, subnetArgs{VpcId: b.vpc, AvailabilityZone: pulumi.String(zone), CidrBlock: pulumi.String(cidr.String()), Tags: tags}, table)
		if err != nil {
			return err
		}
		b.hosts = append(b.hosts, s.ID())
	}
	return nil
}

// wayOut is the default route of a zone's hosts; its zero value is none.
func (b *builder) wayOut(zone int, door *ask.Made) (routeArgs, error) {
	if b.a.Access.SSH == "public" {
		return routeArgs{GatewayId: door.ID()}, nil
	}
	switch b.a.Network.NAT {
	case "none":
		return routeArgs{}, nil
	case "single":
		zone = 0
	}
	name := b.long("nat-" + b.a.Zones[zone])
	if gateway, ok := b.gateways[name]; ok {
		return routeArgs{NatGatewayId: gateway.ID()}, nil
	}
	address, err := b.Make(eipType, name, eipArgs{Domain: pulumi.String("vpc"), Tags: b.tags(name)})
	if err != nil {
		return routeArgs{}, err
	}
	gateway, err := b.Make(natGatewayType, name, natGatewayArgs{AllocationId: address.ID(), SubnetId: b.edges[zone], Tags: b.tags(name)}, pulumi.DependsOn([]pulumi.Resource{door}))
	if err != nil {
		return routeArgs{}, err
	}
	b.gateways[name] = gateway
	return routeArgs{NatGatewayId: gateway.ID()}, nil
}

// routeTable makes a table with a default route, where there is one.
func (b *builder) routeTable(part string, out routeArgs) (*ask.Made, error) {
	name := b.long(part)
	table, err := b.Make(routeTableType, name, routeTableArgs{VpcId: b.vpc, Tags: b.tags(name)})
	if err != nil || out.GatewayId == nil && out.NatGatewayId == nil {
		return table, err
	}
	out.RouteTableId, out.DestinationCidrBlock = table.ID(), pulumi.String(everywhere)
	route, err := b.Make(routeType, name, out)
	b.ready = append(b.ready, route)
	return table, err
}

func (b *builder) subnet(part string, args subnetArgs, table *ask.Made) (*ask.Made, error) {
	name := b.long(part)
	s, err := b.Make(subnetType, name, args)
	if err != nil {
		return nil, err
	}
	joined, err := b.Make(routeTableAssociationType, name, routeTableAssociationArgs{SubnetId: s.ID(), RouteTableId: table.ID()})
	b.ready = append(b.ready, joined)
	return s, err
}

// reserve keeps the hosts' ranges for them: AWS gives their addresses to nothing else.
func (b *builder) reserve() error {
	ranges, err := layout.Ranges(b.c.Spec)
	if err != nil {
		return err
	}
	for i, zone := range b.a.Zones {
		name := b.long("hosts-" + zone)
		r, err := b.Make(reservationType, name, reservationArgs{
			SubnetId: b.hosts[i], CidrBlock: pulumi.String(ranges[i].String()), ReservationType: pulumi.String("explicit"),
			Description: pulumi.String("hosts of cluster " + b.name),
		})
		if err != nil {
			return err
		}
		b.ready = append(b.ready, r)
	}
	return nil
}

// parts are the peers that have a security group, with its name.
func (b *builder) parts() map[layout.Peer]string {
	out := map[layout.Peer]string{layout.ControlPlanes: "control-plane", layout.Workers: "worker", layout.Balancer: "api"}
	if b.a.Access.SSH == "bastion" {
		out[layout.Bastion] = "bastion"
	}
	return out
}

// securityGroups let through what the table of rules has, and everything that hosts begin.
func (b *builder) securityGroups() error {
	parts := b.parts()
	for _, peer := range []layout.Peer{layout.ControlPlanes, layout.Workers, layout.Balancer, layout.Bastion} {
		part, ok := parts[peer]
		if !ok {
			continue
		}
		name := b.long(part)
		g, err := b.Make(securityGroupType, name, securityGroupArgs{
			Name: pulumi.String(name), Description: pulumi.String("clusterctl: " + string(peer) + " of " + b.name), VpcId: b.vpc, Tags: b.groupTags(name),
		})
		if err != nil {
			return err
		}
		b.groups[peer] = g
		_, err = b.Make(egressType, name, ruleArgs{
			SecurityGroupId: g.ID(), IpProtocol: pulumi.String("-1"), CidrIpv4: pulumi.String(everywhere), Tags: b.groupTags(name),
		})
		if err != nil {
			return err
		}
	}
	return b.rules()
}

// groupTags leave out the tag of the cloud controller, which wants it on one security group of an
// instance at most.
func (b *builder) groupTags(name string) pulumi.StringMap {
	out := b.tags(name)
	delete(out, ownedTag(b.name))
	return out
}

func (b *builder) rules() error {
	parts := b.parts()
	ranges := map[layout.Peer][]string{layout.SSHFrom: b.a.Access.SSHFrom, layout.APIFrom: b.a.Access.APIFrom, layout.NodePortsFrom: b.a.Access.NodePortsFrom}
	for _, r := range layout.Rules(b.c.Spec, b.a.Access, true) {
		args := ruleArgs{
			SecurityGroupId: b.groups[r.To].ID(), IpProtocol: pulumi.String(r.Protocol), FromPort: pulumi.Int(r.First), ToPort: pulumi.Int(r.Last),
			Description: pulumi.String(r.Why),
		}
		name := b.long(parts[r.To]) + "-" + r.Protocol + "-" + portText(r)
		if from, ok := b.groups[r.From]; ok {
			args.ReferencedSecurityGroupId = from.ID()
			if err := b.rule(name+"-from-"+parts[r.From], args); err != nil {
				return err
			}
			continue
		}
		for _, cidr := range ranges[r.From] {
			args.CidrIpv4 = pulumi.String(cidr)
			if err := b.rule(name+"-from-"+cidr, args); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *builder) rule(name string, args ruleArgs) error {
	args.Tags = b.groupTags(name)
	_, err := b.Make(ingressType, name, args)
	return err
}
