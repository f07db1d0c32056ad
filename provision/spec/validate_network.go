package spec

import (
	"fmt"
	"net/netip"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Limits of the service range, as host bits: kube-apiserver refuses more than 20
// (cmd/kube-apiserver/app/options/validation.go), and the DNS address needs 4.
const (
	maxServiceBits = 20
	minServiceBits = 4
)

// maxNodeBits is the most bits that a node's mask may add to the pod range, the limit of
// kube-controller-manager's allocator (pkg/controller/nodeipam/ipam/cidrset).
const maxNodeBits = 16

// checkNetwork checks each range for itself, the node mask, and the DNS settings.
func (v *validator) checkNetwork() {
	n := v.c.Spec.Network
	if pods, ok := v.checkRange(at("network", "podCIDR"), n.PodCIDR); ok {
		v.checkNodeMask(pods)
	}
	if services, ok := v.checkRange(at("network", "serviceCIDR"), n.ServiceCIDR); ok {
		v.checkServiceSize(services)
	}
	if l := v.c.Spec.Provider.Local; l != nil {
		path := at("provider", "local", "subnet")
		subnet, ok := v.checkRange(path, l.Subnet)
		switch {
		case ok && subnet.Addr().Is6():
			v.add(path, "local hosts have IPv4 addresses only", "give a range such as 10.89.7.0/24")
		case ok:
			v.checkSubnetSize(subnet)
		}
	}
	v.checkDomain()
	v.checkUpstreams()
}

// checkRange reads an address range; ok is false when it is none. Host bits are refused, because
// whoever wrote them meant something else than what they get.
func (v *validator) checkRange(path *field.Path, text string) (p netip.Prefix, ok bool) {
	if strings.Contains(text, ",") {
		v.add(path, fmt.Sprintf("need one address range, got %q: two address families at a time are not supported", text), "keep one of them")
		return p, false
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		suggestion := ""
		if a, e := netip.ParseAddr(text); e == nil && a.Zone() == "" {
			suggestion = "add the length of the prefix, such as " + text + "/16"
		}
		v.add(path, fmt.Sprintf("need an address range such as 10.244.0.0/16, got %q", text), suggestion)
		return p, false
	}
	if p.Addr().Is4In6() {
		v.add(path, fmt.Sprintf("need an IPv4 or IPv6 range, got the IPv4-mapped %s", text), "")
		return p, false
	}
	if p != p.Masked() {
		v.add(path, fmt.Sprintf("%s has bits set behind the prefix", p), fmt.Sprintf("write %s", p.Masked()))
	}
	return p.Masked(), true
}

func (v *validator) checkServiceSize(p netip.Prefix) {
	path := at("network", "serviceCIDR")
	total := p.Addr().BitLen()
	switch bits := total - p.Bits(); {
	case bits > maxServiceBits:
		v.add(path, fmt.Sprintf("%s is larger than kube-apiserver allows: need /%d or longer", p, total-maxServiceBits), "")
	case bits < minServiceBits:
		v.add(path, fmt.Sprintf("%s is too small, cluster DNS has its %dth address: need /%d or shorter", p, dnsIndex, total-minServiceBits), "")
	}
}

// checkNodeMask checks that every node gets its part of the pod range.
func (v *validator) checkNodeMask(pods netip.Prefix) {
	path, mask := at("network", "nodeMask"), v.c.Spec.Network.NodeMask
	total := pods.Addr().BitLen()
	switch {
	case mask < pods.Bits():
		v.add(path, fmt.Sprintf("a node's /%d is larger than the pod range %s", mask, pods), "")
		return
	case mask > total-2:
		v.add(path, fmt.Sprintf("a node's /%d has no room for pods: need /%d or shorter", mask, total-2), "")
		return
	case mask-pods.Bits() > maxNodeBits:
		v.add(path, fmt.Sprintf("kube-controller-manager allows at most %d bits between the pod range %s and nodeMask %d", maxNodeBits, pods, mask),
			fmt.Sprintf("use at most %d", pods.Bits()+maxNodeBits))
		return
	}
	blocks, hosts := 1<<(mask-pods.Bits()), v.c.hostCount()
	if hosts > blocks {
		v.add(at("network", "podCIDR"), fmt.Sprintf("%s with nodeMask %d has %s, %s",
			pods, mask, count(blocks, "node block"), count(hosts, "host")), "use a larger podCIDR or a longer nodeMask")
	}
}

// count is a number with its noun: 1 host, 2 hosts.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// checkSubnetSize checks that hosts, bridge, network and broadcast address fit.
func (v *validator) checkSubnetSize(p netip.Prefix) {
	const others = 3
	bits := p.Addr().BitLen() - p.Bits()
	if hosts := v.c.hostCount(); bits < 31 && 1<<bits < hosts+others {
		v.add(at("provider", "local", "subnet"), fmt.Sprintf("%s has %d addresses, need %d for %s and the bridge",
			p, 1<<bits, hosts+others, count(hosts, "host")), "use a shorter prefix")
	}
}

func (v *validator) checkDomain() {
	path, domain := at("network", "clusterDomain"), v.c.Spec.Network.ClusterDomain
	if len(content.IsDNS1123Subdomain(domain)) == 0 {
		return
	}
	suggestion := ""
	if fixed := strings.ToLower(strings.Trim(domain, ".")); len(content.IsDNS1123Subdomain(fixed)) == 0 {
		suggestion = "write " + fixed
	}
	v.add(path, fmt.Sprintf("need a DNS name such as cluster.local, got %q", domain), suggestion)
}

// maxUpstreams is how many servers CoreDNS' forward plugin takes.
const maxUpstreams = 15

// checkUpstreams keeps out servers that lead cluster DNS back to itself.
func (v *validator) checkUpstreams() {
	list := at("network", "upstreamDNS")
	for i, text := range v.c.Spec.Network.UpstreamDNS {
		path := list.Index(i)
		a, err := upstreamAddress(text)
		switch {
		case err != nil:
			v.add(path, fmt.Sprintf("need an IP address, with or without port, got %q", text), "")
		case a.IsLoopback():
			v.add(path, fmt.Sprintf("%s is the pod of cluster DNS itself, not the host: queries would loop", a), "name the servers that the host's resolver asks")
		case a == v.c.DNSAddress():
			v.add(path, fmt.Sprintf("%s is the address of cluster DNS itself: queries would loop", a), "")
		default:
			if err := checkAddress(a); err != nil {
				v.add(path, err.Error(), "")
			}
		}
	}
	if n := len(v.c.Spec.Network.UpstreamDNS); n > maxUpstreams {
		v.add(list, fmt.Sprintf("has %d servers, CoreDNS takes at most %d", n, maxUpstreams), "")
	}
}

// upstreamAddress reads an address that may have a port; IPv6 addresses with a port are in
// brackets.
func upstreamAddress(text string) (netip.Addr, error) {
	if ap, err := netip.ParseAddrPort(text); err == nil && ap.Port() > 0 {
		return ap.Addr(), nil
	}
	return netip.ParseAddr(text)
}
