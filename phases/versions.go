package phases

import (
	"k8s.io/apimachinery/pkg/util/version"

	"clusterctl/provision/inventory"
)

// Versions is what runs: by host and unit, without suffix, the version of the running program.
type Versions map[string]map[string]string

// none tells whether nothing of ours runs anywhere.
func (v Versions) none() bool {
	for _, units := range v {
		if len(units) > 0 {
			return false
		}
	}
	return true
}

// drains tells whether a worker's pods are moved away before its kubelet is restarted: when the
// kubelet goes to another minor version, as Kubernetes wants it, and there is another worker that
// they can go to.
func (c *Cluster) drains(h inventory.Host) bool {
	from, to := c.Running[h.Name]["kubelet"], c.Release.Of("kubelet").Kubernetes
	return h.Role == inventory.Worker && len(c.Inventory.Workers()) > 1 && from != "" && !sameMinor(from, to)
}

// back tells whether a controller runs that is newer than the wanted API server.
func (c *Cluster) back() bool {
	to, err := version.ParseSemantic(c.Release.Kubernetes)
	for _, h := range c.Inventory.ControlPlanes() {
		for _, unit := range controllers {
			v, unknown := version.ParseSemantic(c.Running[h.Name][unit])
			if err == nil && unknown == nil && to.LessThan(v) {
				return true
			}
		}
	}
	return false
}

func sameMinor(a, b string) bool {
	one, err := version.ParseSemantic(a)
	two, other := version.ParseSemantic(b)
	return err == nil && other == nil && one.Major() == two.Major() && one.Minor() == two.Minor()
}
