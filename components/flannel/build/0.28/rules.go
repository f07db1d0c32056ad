package main

import (
	"context"
	"fmt"
	"math/big"
	"net"

	"github.com/flannel-io/flannel/pkg/ip"
	"github.com/flannel-io/flannel/pkg/lease"
	"github.com/flannel-io/flannel/pkg/subnet"
	"github.com/flannel-io/flannel/pkg/trafficmngr"
	"github.com/flannel-io/flannel/pkg/trafficmngr/iptables"
	"github.com/flannel-io/flannel/pkg/trafficmngr/nftables"
	"github.com/joho/godotenv"
	"k8s.io/klog/v2"
)

// setRules installs forwarding and masquerading, and first removes what the
// other kind of rules left behind. A host that lacks the other kind's program
// has no such rules, so that is no reason to stop.
func setRules(ctx context.Context, config *subnet.Config, own *lease.Lease, o options) error {
	if err := newRules(!config.EnableNFTables).CleanUp(ctx); err != nil {
		klog.InfoS("Cannot look for rules of the kind that is not used", "nftables", !config.EnableNFTables, "err", err)
	}
	rules := newRules(config.EnableNFTables)
	if err := rules.Init(ctx); err != nil {
		return fmt.Errorf("prepare the packet filter (nftables %t): %w", config.EnableNFTables, err)
	}
	if o.ipMasq {
		previous := readSubnetFile(o.subnetFile)
		err := rules.SetupAndEnsureMasqRules(ctx,
			config.Network, previous.ipv4("FLANNEL_SUBNET"), previous.ipv4("FLANNEL_NETWORK"),
			config.IPv6Network, previous.ipv6("FLANNEL_IPV6_SUBNET"), previous.ipv6("FLANNEL_IPV6_NETWORK"),
			own, o.resync, false)
		if err != nil {
			return fmt.Errorf("install the masquerade rules: %w", err)
		}
	}
	if o.forwardRules {
		rules.SetupAndEnsureForwardRules(ctx, config.Network, config.IPv6Network, o.resync)
	}
	return nil
}

func newRules(nft bool) trafficmngr.TrafficManager {
	if nft {
		return &nftables.NFTablesManager{}
	}
	return &iptables.IPTablesManager{}
}

// subnetFile is what an earlier run wrote; rules of a changed network are
// found by it. A file that is not there gives empty networks.
type subnetFile map[string]string

func readSubnetFile(path string) subnetFile {
	values, err := godotenv.Read(path)
	if err != nil {
		return nil
	}
	return values
}

func (f subnetFile) ipv4(key string) ip.IP4Net {
	_, cidr, err := net.ParseCIDR(f[key])
	if err != nil || cidr.IP.To4() == nil {
		return ip.IP4Net{}
	}
	return ip.FromIPNet(cidr)
}

func (f subnetFile) ipv6(key string) ip.IP6Net {
	_, cidr, err := net.ParseCIDR(f[key])
	if err != nil || cidr.IP.To4() != nil {
		return ip.IP6Net{IP: (*ip.IP6)(big.NewInt(0))}
	}
	return ip.FromIP6Net(cidr)
}
