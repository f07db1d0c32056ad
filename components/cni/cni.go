// Package cni is the network plugins that the container runtime calls.
package cni

import (
	"clusterctl/components"
	"clusterctl/components/resource"
)

// Component is the plugin programs on every host.
type Component struct{}

// Name is the component's name.
func (Component) Name() string { return "cni" }

// Resources gives the plugins at the place where every CNI expects them.
func (Component) Resources(n components.Node) ([]resource.Resource, error) {
	names := []string{"bridge", "loopback", "host-local", "portmap"}
	if n.Spec.Spec.Network.CNI == "flannel" {
		names = append(names, "flannel")
	}
	var out []resource.Resource
	for _, name := range names {
		b, err := n.Binary("cni-" + name)
		if err != nil {
			return nil, err
		}
		out = append(out, b.At(n.Host.Name, components.CNIBinDir+"/"+name, true))
	}
	return out, nil
}
