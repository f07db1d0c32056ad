// Package inventory is the list of machines that a cluster runs on, as the provider gave them.
package inventory

import (
	"cmp"
	"net/netip"
	"slices"
)

// Role says what a host does in the cluster.
type Role string

const (
	ControlPlane Role = "control-plane"
	Worker       Role = "worker"
)

// Taint keeps pods away from a node, as in core/v1.
type Taint struct {
	Key    string `json:"key"`
	Value  string `json:"value,omitempty"`
	Effect string `json:"effect"`
}

// Host is one machine.
type Host struct {
	Name    string            `json:"name"` // also the node's name
	Role    Role              `json:"role"`
	Pool    string            `json:"pool,omitempty"` // worker pool; empty for control planes
	Address netip.Addr        `json:"address"`        // THE cluster address: SAN, listen, advertise, node-ip
	SSH     SSH               `json:"ssh"`
	Labels  map[string]string `json:"labels,omitempty"`
	Taints  []Taint           `json:"taints,omitempty"`
	Place   Place             `json:"place,omitzero"`
}

// Place is what a cloud says of a machine of its own; empty for other machines, and before it is made.
type Place struct {
	ProviderID string `json:"providerID,omitempty"` // as the cloud's controller writes it into spec.providerID of a node
	Zone       string `json:"zone,omitempty"`
	Region     string `json:"region,omitempty"`
}

// SSH says how the host is reached. No secret is in it: passwords come from the environment.
type SSH struct {
	Address        string   `json:"address"` // host name or IP without port or brackets
	Port           int      `json:"port"`
	User           string   `json:"user"`
	KeyPath        string   `json:"keyPath,omitempty"`        // private or public key file; empty: agent
	Identities     []string `json:"identities,omitempty"`     // private key files to offer after the agent's; empty: the user's default ones
	KnownHostsPath string   `json:"knownHostsPath,omitempty"` // empty: the user's own file
	Insecure       bool     `json:"insecure,omitempty"`       // do not check the host key
	SudoPassword   bool     `json:"sudoPassword,omitempty"`   // sudo needs a password
	Bastion        *SSH     `json:"bastion,omitempty"`
}

// Inventory is all machines, control planes first, then pools, in the spec's order.
type Inventory struct {
	Hosts []Host `json:"hosts"`
}

// ControlPlanes gives the control-plane hosts in order.
func (inv Inventory) ControlPlanes() []Host { return inv.role(ControlPlane) }

// Workers gives the worker hosts in order.
func (inv Inventory) Workers() []Host { return inv.role(Worker) }

func (inv Inventory) role(r Role) []Host {
	var out []Host
	for _, h := range inv.Hosts {
		if h.Role == r {
			out = append(out, h)
		}
	}
	return out
}

// Get finds a host by name.
func (inv Inventory) Get(name string) (Host, bool) {
	i := slices.IndexFunc(inv.Hosts, func(h Host) bool { return h.Name == name })
	if i < 0 {
		return Host{}, false
	}
	return inv.Hosts[i], true
}

// Names gives all host names, sorted.
func (inv Inventory) Names() []string {
	names := make([]string, 0, len(inv.Hosts))
	for _, h := range inv.Hosts {
		names = append(names, h.Name)
	}
	slices.SortFunc(names, cmp.Compare)
	return names
}
