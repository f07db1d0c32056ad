package preflight

import (
	"net/netip"

	"clusterctl/phases/observe"
)

// address: certificates, member URLs and node addresses all hold the one cluster address, so the
// host must have it, and keep it.
func address(m machine) []Finding {
	want := m.host.Address.Unmap().WithZone("")
	if len(m.report.Nets) == 0 {
		return warning("look with: ip -o addr show scope global", "the host's addresses could not be read")
	}
	have, ok := netOf(m.report.Nets, want)
	switch {
	case !ok && m.ours():
		return failure("give the host its address back, or write the new one in the spec: up then issues its certificates anew, tells etcd and the API servers, and restarts what names the old one",
			"the cluster address is gone: expected %s, has %s", want, m.report.Addresses)
	case !ok:
		return failure("set privateAddress of the host in the spec to the address that the other hosts reach it by",
			"no interface has the cluster address: expected %s, has %s", want, m.report.Addresses)
	case have.Dynamic && m.controlPlane():
		return warning("reserve the address in the DHCP server, or set it on the host",
			"the cluster address %s of %s is leased (DHCP); when it changes the control plane is lost", want, have.Interface)
	}
	return nil
}

func netOf(nets []observe.Net, want netip.Addr) (observe.Net, bool) {
	for _, n := range nets {
		if n.Prefix.Addr().Unmap().WithZone("") == want {
			return n, true
		}
	}
	return observe.Net{}, false
}
