// Package static is the provider of hosts that exist already: the spec names them, and they
// are reached over SSH. It makes and deletes nothing.
package static

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"

	"clusterctl/provision"
	"clusterctl/provision/event"
	"clusterctl/provision/inventory"
	"clusterctl/provision/spec"
)

// Provider gives the hosts that the spec names.
type Provider struct {
	resolver resolver
	home     string // where .ssh is; empty: nowhere
}

var _ provision.Provider = (*Provider)(nil)

// New makes the provider; it resolves names as this machine does, and reads ~/.ssh/config.
func New() *Provider {
	home, _ := os.UserHomeDir() // who has no home has no configuration there
	return &Provider{resolver: net.DefaultResolver, home: home}
}

// plan gives the hosts as the spec and the user's SSH configuration name them.
func (p *Provider) plan(s *spec.Cluster) (inventory.Inventory, error) {
	if p.home == "" {
		return plan(s, nil)
	}
	config, err := readSSHConfig(p.home)
	if err != nil {
		return inventory.Inventory{}, err
	}
	return plan(s, config)
}

// Preview says that every host stays as it is, and where it is. It contacts none.
func (p *Provider) Preview(_ context.Context, s *spec.Cluster) ([]provision.Change, error) {
	inv, err := p.plan(s)
	if err != nil {
		return nil, err
	}
	changes := make([]provision.Change, 0, len(inv.Hosts))
	for _, h := range inv.Hosts {
		changes = append(changes, provision.Change{
			Verb: provision.Keep, Kind: "host", Name: h.Name, Detail: detail(h),
		})
	}
	return changes, nil
}

// detail says how a host is reached, and its cluster address when that is another.
func detail(h inventory.Host) string {
	text := h.SSH.User + "@" + net.JoinHostPort(h.SSH.Address, strconv.Itoa(h.SSH.Port))
	if b := h.SSH.Bastion; b != nil {
		text += " through " + net.JoinHostPort(b.Address, strconv.Itoa(b.Port))
	}
	if h.Address.IsValid() && h.Address.String() != h.SSH.Address {
		text += ", cluster address " + h.Address.String()
	}
	return text
}

// Inventory gives the hosts that the spec names, with the cluster addresses of those that are known by
// name only looked up. It contacts no host: whether they answer and let us in is for the first phase to
// find out, for all of them at once.
func (p *Provider) Inventory(ctx context.Context, s *spec.Cluster) (inventory.Inventory, error) {
	inv, err := p.plan(s)
	if err != nil {
		return inventory.Inventory{}, err
	}
	if err := resolveAll(ctx, p.resolver, inv.Hosts, s.IsIPv6()); err != nil {
		return inventory.Inventory{}, err
	}
	if err := checkDistinct(inv.Hosts); err != nil {
		return inventory.Inventory{}, err
	}
	return inv, nil
}

// Ensure gives the inventory: the hosts are there.
func (p *Provider) Ensure(ctx context.Context, s *spec.Cluster, _ event.Sink) (inventory.Inventory, error) {
	return p.Inventory(ctx, s)
}

// checkDistinct refuses two hosts with one cluster address, which the spec's own check cannot
// see when one is a name.
func checkDistinct(hosts []inventory.Host) error {
	seen := make(map[netip.Addr]string, len(hosts))
	for _, h := range hosts {
		if other, ok := seen[h.Address]; ok {
			return fmt.Errorf("hosts %s and %s both have the cluster address %s; set privateAddress, or remove one", other, h.Name, h.Address)
		}
		seen[h.Address] = h.Name
	}
	return nil
}

// Destroy does nothing: the hosts are the user's.
func (p *Provider) Destroy(context.Context, *spec.Cluster, event.Sink) error { return nil }
