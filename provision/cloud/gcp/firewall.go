package gcp

import (
	"fmt"
	"slices"
	"strconv"

	"clusterctl/provision/cloud/layout"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// checkers are where Google's health checks come from (Cloud Load Balancing, Probe IP ranges): the
// load balancer passes connections on as they are, so there is no other address of its own.
func checkers() []string {
	return []string{"35.191.0.0/16", "130.211.0.0/22", "209.85.152.0/22", "209.85.204.0/22"}
}

// firewall lets through what the table of rules has. Hosts are told apart by their service accounts.
func (b *builder) firewall() error {
	ranges := map[layout.Peer][]string{
		layout.SSHFrom: b.g.Access.SSHFrom, layout.APIFrom: b.g.Access.APIFrom, layout.NodePortsFrom: b.g.Access.NodePortsFrom, layout.Balancer: checkers(),
	}
	short := map[layout.Peer]string{
		layout.ControlPlanes: "cp", layout.Workers: "worker", layout.Bastion: "jump", layout.SSHFrom: "ssh", layout.APIFrom: "api", layout.NodePortsFrom: "nodeports", layout.Balancer: "checks",
	}
	for _, r := range layout.Rules(b.c.Spec, b.g.Access, true) {
		to := r.To
		if to == layout.Balancer { // it has no address of its own: the hosts see who connects
			to = layout.ControlPlanes
		}
		args := firewallArgs{
			Network: b.network, Direction: pulumi.String("INGRESS"), Description: pulumi.String(r.Why),
			Allows:                []allow{{Protocol: pulumi.String(r.Protocol), Ports: pulumi.StringArray{pulumi.String(ports(r))}}},
			TargetServiceAccounts: pulumi.StringArray{b.accounts[to]},
		}
		if from, ok := b.accounts[r.From]; ok {
			args.SourceServiceAccounts = pulumi.StringArray{from}
		} else {
			args.SourceRanges = pulumi.ToStringArray(slices.Clone(ranges[r.From]))
		}
		name := b.long(fmt.Sprintf("%s-%s-%s-%s", short[to], r.Protocol, ports(r), short[r.From]))
		args.Name = pulumi.String(name)
		if _, err := b.Make(firewallType, name, args); err != nil {
			return err
		}
	}
	return nil
}

func ports(r layout.Rule) string {
	if r.First == r.Last {
		return strconv.Itoa(r.First)
	}
	return strconv.Itoa(r.First) + "-" + strconv.Itoa(r.Last)
}
