package spec

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
)

// ControlPlaneEndpoint is the load balancer, VIP or name in front of all API servers; ok is false
// when the spec gives none. host has no brackets: join it with net.JoinHostPort.
func (c *Cluster) ControlPlaneEndpoint() (host string, port int, ok bool) {
	if c.Spec.ControlPlane.Endpoint == "" {
		return "", 0, false
	}
	host, port, err := parseEndpoint(c.Spec.ControlPlane.Endpoint)
	return host, port, err == nil
}

// parseEndpoint reads host, host:port, an IPv6 address, or [IPv6]:port. An IPv6 address without
// brackets never has a port: 2001:db8::6443 is all address.
func parseEndpoint(s string) (host string, port int, err error) {
	if strings.Contains(s, "://") {
		return "", 0, fmt.Errorf("need host or host:port without a scheme, got %s", s)
	}
	host, port = s, DefaultAPIPort
	if _, err := netip.ParseAddr(s); err != nil && strings.Contains(s, ":") {
		if inner, ok := strings.CutPrefix(s, "["); ok && strings.HasSuffix(inner, "]") {
			host = strings.TrimSuffix(inner, "]")
		} else if host, port, err = splitPort(s); err != nil {
			return "", 0, err
		}
		if strings.HasPrefix(s, "[") && !isIPv6(host) {
			return "", 0, fmt.Errorf("need an IPv6 address in the brackets, got %s", s)
		}
	}
	if err := checkHostname(host); err != nil {
		return "", 0, err
	}
	return normalAddress(host), port, nil
}

func splitPort(s string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(s)
	if err != nil {
		return "", 0, fmt.Errorf("need host or host:port, got %s", s)
	}
	port, err = strconv.Atoi(text)
	if err != nil || port < 1 || port > 65535 {
		return "", 0, fmt.Errorf("need a port between 1 and 65535, got %q", text)
	}
	return host, port, nil
}

func isIPv6(s string) bool {
	a, err := netip.ParseAddr(s)
	return err == nil && a.Is6()
}

// checkHostname says what is wrong with a host name or IP address. Names that look like a
// mistyped IPv4 address are refused, although DNS allows them.
func checkHostname(s string) error {
	if a, err := netip.ParseAddr(s); err == nil {
		return checkAddress(a)
	}
	name := strings.ToLower(s)
	label := name[strings.LastIndex(name, ".")+1:]
	if strings.Trim(label, "0123456789") == "" || len(content.IsDNS1123Subdomain(name)) > 0 {
		return fmt.Errorf("need a host name or an IP address, got %q", s)
	}
	return nil
}

// checkAddress refuses forms of IP addresses that no other host could use.
func checkAddress(a netip.Addr) error {
	switch {
	case a.Zone() != "":
		return fmt.Errorf("the IPv6 zone %%%s means nothing on other hosts: give an address without zone", a.Zone())
	case a.Is4In6():
		return fmt.Errorf("write the IPv4 address as %s, got %s", a.Unmap(), a)
	case a.IsUnspecified(), a.IsMulticast():
		return fmt.Errorf("%s is not the address of a host", a)
	}
	return nil
}
