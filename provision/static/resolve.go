package static

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"clusterctl/provision/host"
	"clusterctl/provision/inventory"
)

// lookups is how many names are looked up at the same moment.
const lookups = 16

// resolver looks up names; *net.Resolver is one.
type resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// resolveAll fills the addresses that are missing, of the cluster's IP family.
func resolveAll(ctx context.Context, r resolver, hosts []inventory.Host, ipv6 bool) error {
	return host.ForEach(ctx, lookups, indices(hosts), func(ctx context.Context, i int) error {
		h := &hosts[i]
		if h.Address.IsValid() {
			return nil
		}
		a, err := resolve(ctx, r, h.SSH.Address, ipv6)
		if err != nil {
			return fmt.Errorf("find the cluster address of %s: %w; set privateAddress", h.Name, err)
		}
		h.Address = a
		return nil
	})
}

func indices(hosts []inventory.Host) []int {
	out := make([]int, len(hosts))
	for i := range hosts {
		out[i] = i
	}
	return out
}

// resolve gives the address that other hosts can use for name: the lowest one, so that the
// order of the answers does not matter. A loopback address, which a hosts file may give for
// this machine's own name, is none.
func resolve(ctx context.Context, r resolver, name string, ipv6 bool) (netip.Addr, error) {
	network := "ip4"
	if ipv6 {
		network = "ip6"
	}
	found, err := r.LookupNetIP(ctx, network, name)
	if err != nil {
		return netip.Addr{}, err
	}
	usable := slices.DeleteFunc(slices.Clone(found), func(a netip.Addr) bool {
		return a.IsLoopback() || a.IsUnspecified() || a.IsLinkLocalUnicast() || a.IsMulticast()
	})
	if len(usable) == 0 {
		return netip.Addr{}, errors.New(name + " has no address that other hosts can reach")
	}
	return slices.MinFunc(usable, netip.Addr.Compare).Unmap(), nil
}
