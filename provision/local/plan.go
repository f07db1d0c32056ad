package local

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"

	"clusterctl/provision/inventory"
	"clusterctl/provision/spec"
)

// Where a cluster's addresses are, counted from the start of its subnet. The blocks are fixed,
// so that growing a pool or adding a pool at the end of the list moves no other host.
const (
	gatewayOffset      = 1
	controlPlaneOffset = 11
	maxControlPlanes   = 9
	poolOffset         = 21
	poolSize           = 20
)

// layout is everything about a cluster's hosts that follows from the spec alone.
type layout struct {
	cluster string
	net     string // name of the switch's namespace and of this machine's interface on it
	subnet  netip.Prefix
	gateway netip.Addr // this machine's address on the subnet
	hosts   inventory.Inventory
}

// Plan gives the hosts of a cluster: names, addresses and SSH settings, control planes first,
// then the pools in the spec's order. It is pure. The paths of the SSH key and of known_hosts
// are left empty, since they depend on the state directory: Provider.Inventory fills them in.
func Plan(s *spec.Cluster) (inventory.Inventory, error) {
	l, err := newLayout(s)
	return l.hosts, err
}

func newLayout(s *spec.Cluster) (layout, error) {
	if s.Spec.Provider.Local == nil {
		return layout{}, errors.New("plan local hosts: spec.provider.local is not set")
	}
	subnet, err := netip.ParsePrefix(s.Spec.Provider.Local.Subnet)
	if err != nil {
		return layout{}, fmt.Errorf("spec.provider.local.subnet: %w; give an IPv4 range such as 10.89.7.0/24", err)
	}
	if !subnet.Addr().Is4() {
		return layout{}, fmt.Errorf("spec.provider.local.subnet: %s is not IPv4; give a range such as 10.89.7.0/24", subnet)
	}
	l := layout{
		cluster: s.Metadata.Name,
		net:     networkName(s.Metadata.Name),
		subnet:  subnet.Masked(),
		gateway: addressAt(subnet, gatewayOffset),
	}
	if l.hosts.Hosts, err = planHosts(s, l.subnet); err != nil {
		return layout{}, err
	}
	return l, nil
}

func planHosts(s *spec.Cluster, subnet netip.Prefix) ([]inventory.Host, error) {
	n := s.Spec.ControlPlane.Replicas
	if n > maxControlPlanes {
		return nil, fmt.Errorf("spec.controlPlane.replicas: %d local control planes, at most %d are possible", n, maxControlPlanes)
	}
	hosts, err := named(s.Spec.ControlPlane.Hosts)
	if err != nil {
		return nil, err
	}
	for i := range n {
		hosts = append(hosts, inventory.Host{
			Name:    fmt.Sprintf("%s-cp-%d", s.Metadata.Name, i+1),
			Role:    inventory.ControlPlane,
			Address: addressAt(subnet, controlPlaneOffset+i),
		})
	}
	for p, pool := range s.Spec.Workers {
		if pool.Replicas > poolSize {
			return nil, fmt.Errorf("spec.workers[%d].replicas: %d local hosts, at most %d are possible; add another pool at the end", p, pool.Replicas, poolSize)
		}
		for i := range pool.Replicas {
			hosts = append(hosts, inventory.Host{
				Name:    fmt.Sprintf("%s-%s-%d", s.Metadata.Name, pool.Name, i+1),
				Role:    inventory.Worker,
				Pool:    pool.Name,
				Address: addressAt(subnet, poolOffset+p*poolSize+i),
				Labels:  maps.Clone(pool.Labels),
				Taints:  taints(pool.Taints),
			})
		}
	}
	for i := range hosts {
		hosts[i].SSH = inventory.SSH{Address: hosts[i].Address.String(), Port: 22, User: "root"}
	}
	return hosts, checkHosts(hosts, subnet)
}

// named gives control planes that have names and addresses of their own. A spec file with local hosts
// cannot list any; who decides about addresses elsewhere, as a cloud does, can.
func named(list []spec.Host) ([]inventory.Host, error) {
	var hosts []inventory.Host
	for _, h := range list {
		address, err := netip.ParseAddr(h.Address)
		if err != nil {
			return nil, fmt.Errorf("plan local hosts: address of host %s: %w", h.Name, err)
		}
		hosts = append(hosts, inventory.Host{Name: h.Name, Role: inventory.ControlPlane, Address: address})
	}
	return hosts, nil
}

// checkHosts refuses two hosts of one name (a pool called cp) and addresses outside the subnet.
func checkHosts(hosts []inventory.Host, subnet netip.Prefix) error {
	seen := map[string]bool{}
	for _, h := range hosts {
		if seen[h.Name] {
			return fmt.Errorf("plan local hosts: two hosts are called %s; rename the worker pool", h.Name)
		}
		seen[h.Name] = true
		if !subnet.Contains(h.Address) || h.Address == lastAddress(subnet) {
			return fmt.Errorf("spec.provider.local.subnet: %s has no address for host %s; give a larger range", subnet, h.Name)
		}
	}
	return nil
}

func taints(in []spec.Taint) []inventory.Taint {
	var out []inventory.Taint
	for _, t := range in {
		out = append(out, inventory.Taint{Key: t.Key, Value: t.Value, Effect: t.Effect})
	}
	return out
}

// addressAt gives the n-th address of an IPv4 subnet; past the end of IPv4 it wraps around,
// which checkHosts finds.
func addressAt(subnet netip.Prefix, n int) netip.Addr {
	a := subnet.Masked().Addr().As4()
	binary.BigEndian.PutUint32(a[:], binary.BigEndian.Uint32(a[:])+uint32(n))
	return netip.AddrFrom4(a)
}

// lastAddress is the broadcast address of an IPv4 subnet.
func lastAddress(subnet netip.Prefix) netip.Addr {
	return addressAt(subnet, 1<<(32-subnet.Bits())-1)
}

// networkName names a cluster's network; interface names have at most 15 bytes.
func networkName(cluster string) string {
	sum := sha256.Sum256([]byte(cluster))
	return "cc-" + hex.EncodeToString(sum[:4])
}

// namespace names the network namespace of a host. The host's name alone would not do: host
// a-b-c-1 can be of cluster a (pool b-c) and of cluster a-b (pool c).
func (l layout) namespace(host string) string { return l.net + "-" + host }

// macOf derives a host's hardware address from its IPv4 address, so that a host that was switched
// off and on again is found by the others without waiting for their ARP caches. The first byte
// marks the address as locally administered (IEEE 802, clause 8.2.2).
func macOf(a netip.Addr) net.HardwareAddr {
	return slices.Concat(net.HardwareAddr{0x02, 0xcc}, a.AsSlice())
}
