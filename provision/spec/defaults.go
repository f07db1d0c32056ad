package spec

import (
	"hash/fnv"
	"net"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
)

// Defaults that are not plain values of one field.
const (
	// DefaultAPIPort is the port of an endpoint that names none.
	DefaultAPIPort = 6443
	// DefaultSSHPort and DefaultSSHUser are how a host is reached when nothing says otherwise.
	DefaultSSHPort = 22
	DefaultSSHUser = "root"
)

// setDefaults fills in what the file left out. Plain defaults come from the types' tags, the
// others depend on more than one field.
func (c *Cluster) setDefaults() {
	setTagDefaults(reflect.ValueOf(c).Elem())
	n := &c.Spec.Network
	if n.NodeMask == 0 {
		n.NodeMask = 24
		if p, err := netip.ParsePrefix(n.PodCIDR); err == nil && p.Addr().Is6() {
			n.NodeMask = 64
		}
	}
	if l := c.Spec.Provider.Local; l != nil && l.Subnet == "" {
		l.Subnet = defaultSubnet(c.Metadata.Name, n.PodCIDR, n.ServiceCIDR)
	}
	if s := c.Spec.Provider.SSH; s != nil {
		c.setSSHDefaults(s)
	}
	if s := c.Spec.State.S3; s != nil {
		setTagDefaults(reflect.ValueOf(s).Elem())
		if s.Prefix == "" {
			s.Prefix = "clusterctl/" + c.Metadata.Name
		}
	}
	if a := c.Spec.Provider.AWS; a != nil {
		c.setAWSDefaults(a)
	}
	if g := c.Spec.Provider.GCP; g != nil {
		c.setGCPDefaults(g)
	}
	if s := c.Spec.Provider.VSphere; s != nil {
		c.setVSphereDefaults(s)
	}
	cp := &c.Spec.ControlPlane
	if host, port, err := parseEndpoint(cp.Endpoint); err == nil {
		cp.Endpoint = net.JoinHostPort(host, strconv.Itoa(port))
	}
	if cp.Schedulable == nil {
		none := c.workerCount() == 0
		cp.Schedulable = &none
	}
}

// setTagDefaults gives every empty text field the default of its jsonschema tag.
func setTagDefaults(v reflect.Value) {
	for _, f := range fieldsOf(v.Type()) {
		target := v.FieldByIndex(f.index)
		switch target.Kind() {
		case reflect.Struct:
			setTagDefaults(target)
		case reflect.String:
			if target.String() == "" {
				target.SetString(f.fallback)
			}
		}
	}
}

// defaultSubnet is the /24 of 10.89.0.0/16 that the cluster's name picks, or the next one that
// does not overlap the given ranges. When all overlap it is the first; validation reports it.
func defaultSubnet(name string, ranges ...string) string {
	var taken []netip.Prefix
	for _, text := range ranges {
		if p, err := netip.ParsePrefix(text); err == nil {
			taken = append(taken, p.Masked())
		}
	}
	h := fnv.New32a()
	h.Write([]byte(name))
	first := byte(h.Sum32() % 256)
	for i := range 256 {
		p := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 89, first + byte(i), 0}), 24)
		if !slices.ContainsFunc(taken, p.Overlaps) {
			return p.String()
		}
	}
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 89, first, 0}), 24).String()
}

// setSSHDefaults copies to each host what it does not set itself, so that a host's settings are all
// that the spec says about reaching it. User and port that nobody set stay open: the user's SSH
// configuration may know them.
func (c *Cluster) setSSHDefaults(shared *SSHProvider) {
	setBastionDefaults(&shared.SSHSettings)
	for h := range c.hosts() {
		h.inherit(shared.SSHSettings)
		setBastionDefaults(&h.SSHSettings)
	}
}

// inherit takes what the host leaves open. Switches that are on for all hosts are on for each.
func (s *SSHSettings) inherit(shared SSHSettings) {
	if s.User == "" {
		s.User = shared.User
	}
	if s.Port == 0 {
		s.Port = shared.Port
	}
	if s.KeyPath == "" {
		s.KeyPath = shared.KeyPath
	}
	if s.KnownHostsPath == "" {
		s.KnownHostsPath = shared.KnownHostsPath
	}
	s.InsecureHostKey = s.InsecureHostKey || shared.InsecureHostKey
	s.SudoPassword = s.SudoPassword || shared.SudoPassword
	if s.Bastion == nil && shared.Bastion != nil {
		bastion := *shared.Bastion
		s.Bastion = &bastion
	}
}

func setBastionDefaults(s *SSHSettings) {
	b := s.Bastion
	if b == nil {
		return
	}
	if b.User == "" {
		b.User = s.User
	}
	if b.KeyPath == "" {
		b.KeyPath = s.KeyPath
	}
}
