package spec

import (
	"fmt"
	"iter"
	"net/netip"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ControlPlanePool is what stands for the pool in the names of control planes that the provider
// makes; no worker pool may have this name.
const ControlPlanePool = "cp"

// HostName is the name of the n-th host (from 1) of a pool that the provider makes, such as
// dev-default-1.
func (c *Cluster) HostName(pool string, n int) string {
	return fmt.Sprintf("%s-%s-%d", c.Metadata.Name, pool, n)
}

// ClusterAddress is THE address that the host's cluster traffic uses: its private address, else
// its SSH address. It is invalid when that is a name, which only the provider can look up.
func (h Host) ClusterAddress() netip.Addr {
	text := h.PrivateAddress
	if text == "" {
		text = h.Address
	}
	a, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Addr{}
	}
	return a
}

// hosts gives every host that the spec lists with its path, control planes first.
func (c *Cluster) hosts() iter.Seq2[*Host, *field.Path] {
	return func(yield func(*Host, *field.Path) bool) {
		root := field.NewPath("spec")
		for i := range c.Spec.ControlPlane.Hosts {
			if !yield(&c.Spec.ControlPlane.Hosts[i], root.Child("controlPlane", "hosts").Index(i)) {
				return
			}
		}
		for w := range c.Spec.Workers {
			hosts := c.Spec.Workers[w].Hosts
			for i := range hosts {
				if !yield(&hosts[i], root.Child("workers").Index(w).Child("hosts").Index(i)) {
					return
				}
			}
		}
	}
}

// workerCount is how many workers there will be.
func (c *Cluster) workerCount() int {
	n := 0
	for _, pool := range c.Spec.Workers {
		n += max(pool.Replicas, 0) + len(pool.Hosts)
	}
	return n
}

// hostCount is how many hosts there will be.
func (c *Cluster) hostCount() int {
	return max(c.Spec.ControlPlane.Replicas, 0) + len(c.Spec.ControlPlane.Hosts) + c.workerCount()
}
