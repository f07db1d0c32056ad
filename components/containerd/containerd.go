// Package containerd is the configuration of the container runtime, its shim and runc.
package containerd

import (
	"time"

	"clusterctl/components"
	"clusterctl/components/release"
	"clusterctl/components/resource"
	"clusterctl/templates"
)

// Component is the container runtime on every host.
type Component struct{}

// Name is the unit's name without suffix.
func (Component) Name() string { return "containerd" }

// SocketPath is where the runtime listens.
const SocketPath = "/run/containerd/containerd.sock"

const configPath = "/etc/containerd/config.toml"

// Resources gives programs, configuration and unit.
func (Component) Resources(n components.Node) ([]resource.Resource, error) {
	host := n.Host.Name
	daemon, err := n.Program("containerd", "containerd", "containerd")
	if err != nil {
		return nil, err
	}
	shim, err := n.Program("containerd-shim-runc-v2", "containerd", "containerd-shim-runc-v2")
	if err != nil {
		return nil, err
	}
	runc, err := n.Program("runc", "runc", "runc")
	if err != nil {
		return nil, err
	}
	crictl, err := n.Program("crictl", "crictl", "crictl")
	if err != nil {
		return nil, err
	}
	text, err := templates.Render("containerd.toml.tmpl", struct {
		Sandbox, CNIBinDir, CNIConfDir, ShimPath, RuncPath string
		RestrictOOMScoreAdj, SystemdCgroup                 bool
	}{
		Sandbox: release.PauseImage, CNIBinDir: components.CNIBinDir, CNIConfDir: components.CNIConfDir,
		ShimPath: shim.Path, RuncPath: runc.Path,
		RestrictOOMScoreAdj: !n.Facts.SysResource, SystemdCgroup: n.Facts.CgroupV2,
	})
	if err != nil {
		return nil, err
	}
	config := components.Public(host, configPath, text)
	cri := components.Public(host, "/etc/crictl.yaml", []byte("runtime-endpoint: unix://"+SocketPath+"\nimage-endpoint: unix://"+SocketPath+"\n"))
	out := []resource.Resource{
		daemon, shim, runc, crictl,
		resource.Link{Host: host, Path: components.LinkDir + "/ctr", Target: daemon.Path},
		resource.Link{Host: host, Path: components.LinkDir + "/crictl", Target: crictl.Path},
		config, cri,
	}
	unit, err := components.Service{
		Name: "containerd", Description: "containerd", Type: "notify",
		After: []string{"network-online.target", "local-fs.target"}, Wants: []string{"network-online.target"},
		Args: []string{daemon.Path, "--config=" + configPath}, StartTimeout: 2 * time.Minute,
		KillMode: "process", Delegate: true, Limits: n.Facts.SysResource, OOMScore: -999,
	}.Resources(host, daemon, config)
	return append(out, unit...), err
}

// Images gives the images that a host must hold, with their archives.
func Images(n components.Node, names ...string) ([]resource.Resource, error) {
	var out []resource.Resource
	for _, name := range names {
		b, err := n.Binary(name)
		if err != nil {
			return nil, err
		}
		archive := b.At(n.Host.Name, components.Install("images", b.Version, name+".tar"), false)
		out = append(out, archive, resource.Image{
			Host: n.Host.Name, Reference: b.Reference, ImageDigest: b.ImageDigest, Archive: archive.Path,
		})
	}
	return out, nil
}
