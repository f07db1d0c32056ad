// Package layout says what a cluster has in any cloud: its machines with their addresses, who may
// talk to whom, and what a machine does at its first boot. It is pure: same input, same result.
package layout

import (
	"fmt"
	"maps"
	"net/netip"

	"clusterctl/provision/inventory"
	"clusterctl/provision/spec"
)

// HostType is the component around a host's machine in every cloud's program.
const HostType = "clusterctl:index:Host"

// Machine is one host before a cloud has made it.
type Machine struct {
	Name    string
	Role    inventory.Role
	Pool    string // empty for control planes
	Zone    int    // index of its zone
	Address netip.Addr
}

// Cluster is what a cloud's program is made from.
type Cluster struct {
	Spec     *spec.Cluster
	Machines []Machine
	// LoginKey is the public key that may log in, as a line of authorized_keys.
	LoginKey string
	// Unprotected is for previews: the engine refuses to say what it would do to what is protected.
	Unprotected bool
	// Seen is what the cloud's state had of the cluster before this run.
	Seen Seen
}

// Seen is what is known of a cluster that exists, wholly or in part.
type Seen struct {
	// Founded says that there is a state of this cluster.
	Founded bool
	// IDs are those of everything in the state.
	IDs []string
	// Images are the ids of images that were looked up before, by what was looked up.
	Images map[string]string
	// Machines are the ids of the machines in the state, by name.
	Machines map[string]string
	// Addresses are the machines' cluster addresses, by name.
	Addresses map[string]netip.Addr
	// Pending are names of resources by type whose making was cut off, so that nobody knows
	// whether they are there.
	Pending map[string][]string
}

// Images gives the image of each pool, "" for control planes, and what was looked up, to be remembered.
// find gives the image of a pool; what it looks up it adds to found, and takes from there.
func (c Cluster) Images(find func(pool string, found map[string]string) (string, error)) (byPool, found map[string]string, err error) {
	byPool, found = map[string]string{}, map[string]string{}
	maps.Copy(found, c.Seen.Images)
	for _, m := range append([]Machine{{}}, c.Machines...) {
		if byPool[m.Pool] != "" {
			continue
		}
		if byPool[m.Pool], err = find(m.Pool, found); err != nil {
			return nil, nil, err
		}
	}
	return byPool, found, nil
}

// Machines lists the hosts that the spec counts, control planes first, then the pools in the
// spec's order. The n-th of each is in the n-th of the zones, round and round.
func Machines(s *spec.Cluster, zones int) []Machine {
	var out []Machine
	add := func(role inventory.Role, pool, infix string, n int) {
		for i := range n {
			out = append(out, Machine{Name: s.HostName(infix, i+1), Role: role, Pool: pool, Zone: i % zones})
		}
	}
	add(inventory.ControlPlane, "", spec.ControlPlanePool, s.Spec.ControlPlane.Replicas)
	for _, p := range s.Spec.Workers {
		add(inventory.Worker, p.Name, p.Name, p.Replicas)
	}
	return out
}

// Allocate gives every machine an address of its zone's range: the one that it has, or the lowest
// that no machine has. The first address of a range is left out, so that a range may be a whole
// subnet of a network without a gateway in it.
func Allocate(machines []Machine, ranges []netip.Prefix, have map[string]netip.Addr) error {
	taken := map[netip.Addr]bool{}
	for _, a := range have {
		taken[a] = true
	}
	next := map[netip.Prefix]netip.Addr{} // zones may share a range
	for i := range machines {
		m := &machines[i]
		if a, ok := have[m.Name]; ok {
			m.Address = a
			continue
		}
		a, begun := next[ranges[m.Zone]]
		if !begun {
			a = ranges[m.Zone].Masked().Addr().Next()
		}
		for taken[a] {
			a = a.Next()
		}
		if !ranges[m.Zone].Contains(a.Next()) { // the last one is the broadcast address, if any
			return fmt.Errorf("the range %s has no address left for host %s; use a larger network, or fewer hosts in a zone", ranges[m.Zone], m.Name)
		}
		m.Address, taken[a], next[ranges[m.Zone]] = a, true, a.Next()
	}
	return nil
}

// Outputs is what a cloud tells once machines are there.
type Outputs struct {
	Endpoint string            // of the API's load balancer; empty: there is none
	Bastion  string            // public address
	Public   map[string]string // public addresses of hosts, by name
	Places   map[string]inventory.Place
}

// Login says how hosts are logged in to.
type Login struct {
	User, KeyPath, KnownHostsPath string
}

// Inventory gives the hosts as the rest of the program sees them. What the outputs do not have
// yet is left open: a host that is not there is not connected to.
func Inventory(s *spec.Cluster, machines []Machine, out Outputs, login Login) inventory.Inventory {
	var inv inventory.Inventory
	for _, m := range machines {
		ssh := inventory.SSH{Address: m.Address.String(), Port: spec.DefaultSSHPort, User: login.User, KeyPath: login.KeyPath, KnownHostsPath: login.KnownHostsPath}
		if out.Bastion != "" {
			bastion := ssh
			bastion.Address = out.Bastion
			ssh.Bastion = &bastion
		}
		if public := out.Public[m.Name]; public != "" {
			ssh.Address = public
		}
		h := inventory.Host{Name: m.Name, Role: m.Role, Pool: m.Pool, Address: m.Address, SSH: ssh, Place: out.Places[m.Name]}
		for _, p := range s.Spec.Workers {
			if p.Name == m.Pool {
				h.Labels = maps.Clone(p.Labels)
				for _, t := range p.Taints {
					h.Taints = append(h.Taints, inventory.Taint(t))
				}
			}
		}
		inv.Hosts = append(inv.Hosts, h)
	}
	return inv
}

// Part gives the n-th part of a range that is divided into 2^bits equal ones.
func Part(p netip.Prefix, bits, n int) netip.Prefix {
	a := p.Masked().Addr().As4()
	shift := 32 - p.Bits() - bits
	v := uint32(a[0])<<24 | uint32(a[1])<<16 | uint32(a[2])<<8 | uint32(a[3])
	v += uint32(n) << shift
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)}), p.Bits()+bits)
}
