package local

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"clusterctl/provision/inventory"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// The network of a cluster. The bridge is in a network namespace of its own, and this machine is
// one of its ports:
//
//	machine            namespace cc-1234abcd            namespace cc-1234abcd-dev-cp-1
//	cc-1234abcd ------ machine   br0   p5678cdef ------ eth0
//	10.89.7.1                                           10.89.7.11
//
// With the bridge on the machine itself, frames between two hosts would pass the machine's
// forward chain (net.bridge.bridge-nf-call-iptables is on wherever Docker or Kubernetes has run)
// and be dropped by the rules that Docker, firewalld and others put there. In a namespace of its
// own no rule is needed, none has to be cleaned up, and nothing global is set.
const (
	bridgeName  = "br0"
	machinePort = "machine" // the bridge's port to this machine
	hostDevice  = "eth0"    // a host's own interface
)

// portName names a host's port of the bridge; interface names have at most 15 bytes.
func portName(host string) string {
	sum := sha256.Sum256([]byte(host))
	return "p" + hex.EncodeToString(sum[:6])
}

// ensureSwitch makes the bridge and connects this machine to it.
func ensureSwitch(l layout) error {
	sw, err := openNamespace(l.net)
	if err != nil {
		return err
	}
	defer sw.close()
	bridge, err := ensureLink(sw.link, &netlink.Bridge{LinkAttrs: attrs(bridgeName)})
	if err == nil {
		err = sw.link.LinkSetUp(bridge)
	}
	if err != nil {
		return fmt.Errorf("make the bridge of network %s: %w", l.net, err)
	}
	own, err := ownNamespace()
	if err != nil {
		return err
	}
	defer own.close()
	if err := checkOverlap(own.link, l); err != nil {
		return err
	}
	if err := plug(sw, own, cable{machinePort, l.net, netip.PrefixFrom(l.gateway, l.subnet.Bits())}); err != nil {
		return fmt.Errorf("connect this machine to network %s: %w", l.net, err)
	}
	return nil
}

// ensurePort makes a host's namespace and connects it to the bridge.
func ensurePort(l layout, h inventory.Host) error {
	sw, err := openNamespace(l.net)
	if err != nil {
		return err
	}
	defer sw.close()
	host, err := openNamespace(l.namespace(h.Name))
	if err != nil {
		return err
	}
	defer host.close()
	if err := plug(sw, host, cable{portName(h.Name), hostDevice, netip.PrefixFrom(h.Address, l.subnet.Bits())}); err != nil {
		return fmt.Errorf("connect host %s to network %s: %w", h.Name, l.net, err)
	}
	if err := route(host.link, l.gateway); err != nil {
		return fmt.Errorf("route of host %s: %w", h.Name, err)
	}
	return nil
}

// route gives a host its loopback interface and its way out.
func route(host *netlink.Handle, gateway netip.Addr) error {
	lo, err := host.LinkByName("lo")
	if err != nil {
		return err
	}
	if err := host.LinkSetUp(lo); err != nil {
		return err
	}
	dev, err := host.LinkByName(hostDevice)
	if err != nil {
		return err
	}
	return host.RouteReplace(&netlink.Route{LinkIndex: dev.Attrs().Index, Gw: gateway.AsSlice()})
}

// cable is a pair of virtual interfaces: a port of the bridge and the device at the other end.
type cable struct {
	port, device string
	address      netip.Prefix // of the device
}

// plug makes a cable, unless both of its ends are there, and brings it up. A cable with one end
// missing is what an interruption leaves: it is made anew.
func plug(sw, end namespace, c cable) error {
	port, errPort := sw.link.LinkByName(c.port)
	device, errDevice := end.link.LinkByName(c.device)
	if errPort != nil || errDevice != nil {
		if err := errors.Join(unplug(sw.link, c.port), unplug(end.link, c.device)); err != nil {
			return err
		}
		var err error
		if port, device, err = makeCable(sw, end, c); err != nil {
			return err
		}
	}
	bridge, err := sw.link.LinkByName(bridgeName)
	if err != nil {
		return err
	}
	return errors.Join(
		sw.link.LinkSetMaster(port, bridge),
		sw.link.LinkSetUp(port),
		end.link.AddrReplace(device, &netlink.Addr{IPNet: ipNet(c.address)}),
		end.link.LinkSetUp(device),
	)
}

// makeCable makes both ends, each where it belongs.
func makeCable(sw, end namespace, c cable) (port, device netlink.Link, err error) {
	veth := &netlink.Veth{
		LinkAttrs: attrs(c.port), PeerName: c.device, PeerHardwareAddr: macOf(c.address.Addr()), PeerNamespace: netlink.NsFd(end.fd),
	}
	if err := sw.link.LinkAdd(veth); err != nil {
		return nil, nil, err
	}
	if port, err = sw.link.LinkByName(c.port); err != nil {
		return nil, nil, err
	}
	device, err = end.link.LinkByName(c.device)
	return port, device, err
}

// removePort cuts a host off and deletes its namespace.
func removePort(l layout, host string) error {
	var err error
	if isNamespace(l.net) {
		var sw namespace
		if sw, err = openNamespace(l.net); err == nil {
			err = unplug(sw.link, portName(host))
			sw.close()
		}
	}
	return errors.Join(err, deleteNamespace(l.namespace(host)))
}

// removeSwitch takes this machine's interface and the bridge away.
func removeSwitch(l layout) error {
	own, err := ownNamespace()
	if err != nil {
		return err
	}
	defer own.close()
	return errors.Join(unplug(own.link, l.net), deleteNamespace(l.net))
}

// unplug deletes an interface, and with it the other end, if it is there.
func unplug(h *netlink.Handle, name string) error {
	link, err := h.LinkByName(name)
	if errors.As(err, &netlink.LinkNotFoundError{}) {
		return nil
	}
	if err == nil {
		err = h.LinkDel(link)
	}
	if err != nil {
		return fmt.Errorf("delete interface %s: %w", name, err)
	}
	return nil
}

func ensureLink(h *netlink.Handle, want netlink.Link) (netlink.Link, error) {
	name := want.Attrs().Name
	if have, err := h.LinkByName(name); err == nil {
		return have, nil
	}
	if err := h.LinkAdd(want); err != nil {
		return nil, err
	}
	return h.LinkByName(name)
}

// checkOverlap refuses a subnet that this machine reaches in another way already.
func checkOverlap(machine *netlink.Handle, l layout) error {
	routes, err := machine.RouteList(nil, unix.AF_INET)
	if err != nil {
		return fmt.Errorf("list this machine's routes: %w", err)
	}
	for _, r := range routes {
		if r.Dst == nil || r.Dst.IP.IsUnspecified() {
			continue
		}
		dst, err := netip.ParsePrefix(r.Dst.String())
		if err != nil || !dst.Overlaps(l.subnet) {
			continue
		}
		device := fmt.Sprintf("interface %d", r.LinkIndex)
		if link, err := machine.LinkByIndex(r.LinkIndex); err == nil {
			device = link.Attrs().Name
		}
		if device != l.net {
			return fmt.Errorf("subnet %s overlaps with %s, which this machine reaches through %s; set spec.provider.local.subnet to a free range", l.subnet, dst, device)
		}
	}
	return nil
}

func attrs(name string) netlink.LinkAttrs {
	a := netlink.NewLinkAttrs()
	a.Name = name
	return a
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}
