// Package balancer is the configuration of the node-local TCP balancer over all API servers. It
// reads its backends from a file and so does not depend on the API that it balances.
package balancer

import (
	"clusterctl/components"
	"clusterctl/components/resource"
	"clusterctl/pki"
)

// Component is the balancer on every host.
type Component struct{}

// Name is the unit's name without suffix.
func (Component) Name() string { return "clusterctl-balancer" }

// Config is the balancer's file (components/balancer/build reads the same shape).
type Config struct {
	Listen     []string  `json:"listen"`
	Health     string    `json:"health"`
	CAFile     string    `json:"caFile"`
	ServerName string    `json:"serverName"`
	Backends   []Backend `json:"backends"`
}

// Backend is one API server.
type Backend struct {
	Name    string `json:"name"`
	Address string `json:"address"` // host:port
	Prefer  bool   `json:"prefer,omitempty"`
}

// ConfigPath is the file of the backends; a balancer that runs reads it again when it changes.
const ConfigPath = components.KubernetesDir + "/balancer.json"

// Resources gives program, backends and unit. A changed list of backends is read without a
// restart, so it is no input of the unit.
func (c Component) Resources(n components.Node) ([]resource.Resource, error) {
	host := n.Host.Name
	program, err := n.Program("clusterctl-balancer", "balancer", "clusterctl-balancer")
	if err != nil {
		return nil, err
	}
	config, err := components.JSON(host, ConfigPath, configOf(n))
	if err != nil {
		return nil, err
	}
	ca := components.Public(host, components.ClusterCAPath, n.Secrets.CA(pki.ClusterCA).CertPEM)
	unit, err := components.Service{
		Name: c.Name(), Description: "Local balancer over the API servers", Type: "notify",
		After: []string{"network-online.target"}, Wants: []string{"network-online.target"},
		Args:   []string{program.Path, "--config=" + ConfigPath},
		Limits: n.Facts.SysResource, OOMScore: -999,
	}.Resources(host, program, ca)
	return append([]resource.Resource{program, ca, config}, unit...), err
}

func configOf(n components.Node) Config {
	cfg := Config{
		Listen:     []string{components.HostPort("127.0.0.1", components.BalancerPort)},
		Health:     components.HostPort("127.0.0.1", components.BalancerHealthPort),
		CAFile:     components.ClusterCAPath,
		ServerName: pki.ServerName,
	}
	for _, h := range n.Inventory.ControlPlanes() {
		cfg.Backends = append(cfg.Backends, Backend{
			Name: h.Name, Address: components.HostPort(h.Address.String(), components.APIServerPort), Prefer: h.Name == n.Host.Name,
		})
	}
	return cfg
}
