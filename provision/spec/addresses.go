package spec

import "net/netip"

// dnsIndex is which address of the service range cluster DNS has, as in kubeadm and every
// distribution since: 10.96.0.10 of 10.96.0.0/16.
const dnsIndex = 10

// APIServiceAddress is the first address of the service range, which kube-apiserver gives to the
// service kubernetes.default.
func (c *Cluster) APIServiceAddress() netip.Addr { return c.serviceAddress(1) }

// DNSAddress is the tenth address of the service range, which cluster DNS has.
func (c *Cluster) DNSAddress() netip.Addr { return c.serviceAddress(dnsIndex) }

// IsIPv6 says whether the cluster's pods, services and hosts have IPv6 addresses.
func (c *Cluster) IsIPv6() bool {
	p, err := netip.ParsePrefix(c.Spec.Network.ServiceCIDR)
	return err == nil && p.Addr().Is6()
}

// serviceAddress counts from the network address, whatever host bits the text has. It is invalid
// when the service range is.
func (c *Cluster) serviceAddress(n int) netip.Addr {
	p, err := netip.ParsePrefix(c.Spec.Network.ServiceCIDR)
	if err != nil {
		return netip.Addr{}
	}
	a := p.Masked().Addr()
	for range n {
		a = a.Next()
	}
	return a
}
