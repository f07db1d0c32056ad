package spec

import (
	"fmt"
	"net/netip"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// addressRange is a range that the cluster uses, with its effective value.
type addressRange struct {
	netip.Prefix
	path     *field.Path
	forHosts bool // hosts take their addresses from it
}

// usedAddress is an address that must be outside the pod and service ranges.
type usedAddress struct {
	netip.Addr
	path *field.Path
}

// checkAddresses compares all ranges and addresses of the cluster with one another: effective
// values, after defaults, because a default collides as badly as a typed value.
func (v *validator) checkAddresses() {
	ranges := v.ranges()
	for i, a := range ranges {
		for _, b := range ranges[:i] {
			if a.Overlaps(b.Prefix) {
				v.addOverlap(b, a)
			}
		}
	}
	v.checkFamilies(ranges)
	for _, a := range v.usedAddresses() {
		for _, r := range ranges {
			if r.forHosts {
				continue
			}
			if r.Contains(a.Addr) {
				v.add(a.path, fmt.Sprintf("%s is inside %s", a.Addr, v.nameRange(r)), "addresses of hosts must be outside")
			}
		}
	}
	v.checkClusterAddresses()
}

// ranges lists those that can be read.
func (v *validator) ranges() []addressRange {
	var out []addressRange
	add := func(path *field.Path, text string, forHosts bool) {
		if p, err := netip.ParsePrefix(text); err == nil && !p.Addr().Is4In6() {
			out = append(out, addressRange{p.Masked(), path, forHosts})
		}
	}
	add(at("network", "podCIDR"), v.c.Spec.Network.PodCIDR, false)
	add(at("network", "serviceCIDR"), v.c.Spec.Network.ServiceCIDR, false)
	if l := v.c.Spec.Provider.Local; l != nil {
		add(at("provider", "local", "subnet"), l.Subnet, true)
	}
	if a := v.c.Spec.Provider.AWS; a != nil {
		add(at("provider", "aws", "network", "cidr"), a.Network.CIDR, true)
		for i, s := range a.Network.Subnets {
			add(at("provider", "aws", "network", "subnets").Index(i).Child("hostCIDR"), s.HostCIDR, true)
		}
	}
	if g := v.c.Spec.Provider.GCP; g != nil {
		add(at("provider", "gcp", "network", "cidr"), g.Network.CIDR, true)
		add(at("provider", "gcp", "network", "hostCIDR"), g.Network.HostCIDR, true)
	}
	if s := v.c.Spec.Provider.VSphere; s != nil {
		add(at("provider", "vsphere", "addresses", "subnet"), s.Addresses.Subnet, true)
	}
	return out
}

// addOverlap reports at the range that the file sets; when it sets both, at the second.
func (v *validator) addOverlap(a, b addressRange) {
	if !v.isSet(b.path) {
		a, b = b, a
	}
	v.add(b.path, fmt.Sprintf("%s overlaps %s", b.Prefix, v.nameRange(a)), "choose ranges that are apart")
}

// nameRange names a range in a message: 10.96.0.0/16 of spec.network.serviceCIDR (the default).
func (v *validator) nameRange(r addressRange) string {
	text := fmt.Sprintf("%s of %s", r.Prefix, v.where(r.path))
	if !v.isSet(r.path) {
		text += " (the default)"
	}
	return text
}

// checkFamilies refuses a mix of IPv4 and IPv6 in ranges and cluster addresses.
func (v *validator) checkFamilies(ranges []addressRange) {
	if len(ranges) == 0 || ranges[0].path.String() != at("network", "podCIDR").String() {
		return
	}
	pods := ranges[0]
	for _, r := range ranges[1:] {
		if r.Addr().Is4() != pods.Addr().Is4() {
			v.addFamily(r.path, r.Prefix, pods)
		}
	}
	for h, path := range v.c.hosts() {
		if a := h.ClusterAddress(); a.IsValid() && checkAddress(a) == nil && a.Is4() != pods.Addr().Is4() {
			v.addFamily(clusterAddressPath(h, path), a, pods)
		}
	}
}

func (v *validator) addFamily(path *field.Path, value fmt.Stringer, pods addressRange) {
	if !v.isSet(path) {
		v.add(pods.path, fmt.Sprintf("%s and %s of %s (the default) are of different address families", pods.Prefix, value, path),
			"set both to ranges of one family")
		return
	}
	v.add(path, fmt.Sprintf("%s and %s are of different address families", value, v.nameRange(pods)), "use one family for pods, services and hosts")
}

// clusterAddressPath is the field that ClusterAddress reads.
func clusterAddressPath(h *Host, path *field.Path) *field.Path {
	if h.PrivateAddress != "" {
		return path.Child("privateAddress")
	}
	return path.Child("address")
}

// usedAddresses lists the IP addresses of hosts, bastions and the endpoint.
func (v *validator) usedAddresses() []usedAddress {
	var out []usedAddress
	add := func(path *field.Path, text string) {
		if a, err := netip.ParseAddr(text); err == nil && v.isSet(path) {
			out = append(out, usedAddress{a, path})
		}
	}
	bastion := func(path *field.Path, s SSHSettings) {
		if s.Bastion != nil {
			add(path.Child("bastion", "address"), s.Bastion.Address)
		}
	}
	if s := v.c.Spec.Provider.SSH; s != nil {
		bastion(at("provider", "ssh"), s.SSHSettings)
	}
	for h, path := range v.c.hosts() {
		add(path.Child("address"), h.Address)
		add(path.Child("privateAddress"), h.PrivateAddress)
		bastion(path, h.SSHSettings)
	}
	if host, _, ok := v.c.ControlPlaneEndpoint(); ok {
		add(at("controlPlane", "endpoint"), host)
	}
	return out
}

// checkClusterAddresses checks that each host has a cluster address of its own that others reach.
func (v *validator) checkClusterAddresses() {
	seen := v.distinct()
	for h, path := range v.c.hosts() {
		if h.PrivateAddress != "" {
			v.checkPrivateAddress(path.Child("privateAddress"), h.PrivateAddress)
		}
		a := h.ClusterAddress()
		if !a.IsValid() {
			continue
		}
		p := clusterAddressPath(h, path)
		if a.IsLoopback() || a.IsLinkLocalUnicast() && a.Zone() == "" {
			v.add(p, fmt.Sprintf("other hosts cannot reach %s, and it is the host's cluster address", a), "set privateAddress to one that they reach")
		}
		seen.add(a.String(), p, "the cluster address %s")
	}
}

func (v *validator) checkPrivateAddress(path *field.Path, text string) {
	a, err := netip.ParseAddr(text)
	if err != nil {
		v.add(path, fmt.Sprintf("need an IP address, got %q", text), "")
	} else if err := checkAddress(a); err != nil {
		v.add(path, err.Error(), "")
	}
}
