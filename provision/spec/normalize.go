package spec

import (
	"net/netip"
	"regexp"
	"strings"
)

// normalize brings what can be spelled in several ways into one spelling, once, so that nothing
// after it compares spellings: versions, host names and addresses. What it cannot read it leaves
// as it is for validation to report.
func (c *Cluster) normalize() {
	k := &c.Spec.Kubernetes
	k.Version = normalVersion(k.Version)
	c.Metadata.Name = strings.ToLower(c.Metadata.Name)
	for i, name := range c.Spec.Peers {
		c.Spec.Peers[i] = strings.ToLower(name)
	}

	if l := c.Spec.Provider.Local; l != nil {
		l.Subnet = normalPrefix(l.Subnet)
	}
	if a := c.Spec.Provider.AWS; a != nil {
		a.Network.CIDR = normalPrefix(a.Network.CIDR)
	}
	if s := c.Spec.Provider.SSH; s != nil && s.Bastion != nil {
		s.Bastion.Address = normalAddress(s.Bastion.Address)
	}
	n := &c.Spec.Network
	n.PodCIDR, n.ServiceCIDR = normalPrefix(n.PodCIDR), normalPrefix(n.ServiceCIDR)
	for i, s := range n.UpstreamDNS {
		n.UpstreamDNS[i] = normalAddress(s)
	}
	cp := &c.Spec.ControlPlane
	for i, s := range cp.CertSANs {
		cp.CertSANs[i] = normalAddress(s)
	}
	normalizeHosts(cp.Hosts)
	for i := range c.Spec.Workers {
		pool := &c.Spec.Workers[i]
		pool.Name = strings.ToLower(pool.Name)
		normalizeHosts(pool.Hosts)
	}
}

func normalizeHosts(hosts []Host) {
	for i := range hosts {
		h := &hosts[i]
		h.Name = strings.ToLower(h.Name)
		h.Address = normalAddress(h.Address)
		h.PrivateAddress = normalAddress(h.PrivateAddress)
		if h.Bastion != nil {
			h.Bastion.Address = normalAddress(h.Bastion.Address)
		}
	}
}

// versionPattern is a semantic version without build metadata (semver.org, 2.0.0, item 2 and 9).
const versionPattern = `^v?((0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?)$`

// normalVersion gives x.y.z one leading v and leaves anything else alone.
func normalVersion(s string) string {
	if m := regexp.MustCompile(versionPattern).FindStringSubmatch(s); m != nil {
		return "v" + m[1]
	}
	return s
}

// normalAddress gives an IP address its canonical text (RFC 5952) and a name small letters.
func normalAddress(s string) string {
	if a, err := netip.ParseAddr(s); err == nil {
		return a.String()
	}
	return strings.ToLower(s)
}

// normalPrefix gives the addresses of a range their canonical text; host bits stay.
func normalPrefix(s string) string {
	if p, err := netip.ParsePrefix(s); err == nil {
		return p.String()
	}
	return s
}
