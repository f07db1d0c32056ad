// Package kubernetes is the configuration of Kubernetes' own components: API server, controller
// manager, scheduler, kubelet and kube-proxy.
package kubernetes

import (
	"strings"

	"clusterctl/components"
	"clusterctl/components/resource"
)

// artifact is the bundle's multi-call binary: it is the component whose name it is started by.
const artifact = "kubernetes"

// program gives the multi-call binary and the link by whose name it runs as component.
func program(n components.Node, component string) (resource.Artifact, resource.Link, error) {
	binary, err := n.Program(artifact, "kubernetes", "kubernetes")
	if err != nil {
		return resource.Artifact{}, resource.Link{}, err
	}
	path := components.Install("kubernetes", binary.Version, component)
	return binary, resource.Link{Host: n.Host.Name, Path: path, Target: "kubernetes"}, nil
}

// Kubectl is kubectl on every host.
type Kubectl struct{}

// Name is the component's name.
func (Kubectl) Name() string { return "kubectl" }

// Resources gives the program under its usual name.
func (Kubectl) Resources(n components.Node) ([]resource.Resource, error) {
	binary, link, err := program(n, "kubectl")
	if err != nil {
		return nil, err
	}
	return []resource.Resource{binary, link, resource.Link{Host: n.Host.Name, Path: components.LinkDir + "/kubectl", Target: link.Path}}, nil
}

// emulate adds the flag by which a component behaves as one of an older minor version.
func emulate(n components.Node, own map[string]string) map[string]string {
	if n.Emulated != "" {
		own["emulated-version"] = n.Emulated
	}
	return own
}

// wildcard is the address that means all of the node's own.
func wildcard(n components.Node) string {
	if n.Host.Address.Is6() {
		return "::"
	}
	return "0.0.0.0"
}

// service is a Kubernetes component as a unit; reads is what its process reads at its start.
func service(n components.Node, component, kind string, args []string, after []string, reads []resource.Resource) ([]resource.Resource, error) {
	binary, link, err := program(n, component)
	if err != nil {
		return nil, err
	}
	unit, err := components.Service{
		Name: component, Description: "Kubernetes " + strings.TrimPrefix(component, "kube-"), Type: kind,
		After: append([]string{"network-online.target"}, after...), Wants: []string{"network-online.target"},
		Args: append([]string{link.Path}, args...), Limits: n.Facts.SysResource, OOMScore: -900, Detached: component == "kube-apiserver",
	}.Resources(n.Host.Name, append([]resource.Resource{binary}, reads...)...)
	return append([]resource.Resource{binary, link}, unit...), err
}
