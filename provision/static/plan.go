package static

import (
	"cmp"
	"errors"
	"fmt"
	"maps"

	"clusterctl/provision/inventory"
	"clusterctl/provision/spec"
)

// errNotSSH is what Plan says about a spec of another provider.
var errNotSSH = errors.New("spec.provider.ssh is not set: these hosts are another provider's")

// Plan gives the hosts that the spec names: control planes, then pools. It is pure: it knows nothing
// of the user's SSH configuration, and a host whose cluster address is only known by name has the
// zero address.
func Plan(s *spec.Cluster) (inventory.Inventory, error) { return plan(s, nil) }

// plan is Plan with what the user's SSH configuration says where the spec does not.
func plan(s *spec.Cluster, config *sshConfig) (inventory.Inventory, error) {
	shared := s.Spec.Provider.SSH
	if shared == nil {
		return inventory.Inventory{}, errNotSSH
	}
	var inv inventory.Inventory
	for _, h := range s.Spec.ControlPlane.Hosts {
		inv.Hosts = append(inv.Hosts, hostOf(h, *shared, inventory.ControlPlane, spec.WorkerPool{}))
	}
	for _, pool := range s.Spec.Workers {
		for _, h := range pool.Hosts {
			inv.Hosts = append(inv.Hosts, hostOf(h, *shared, inventory.Worker, pool))
		}
	}
	for i := range inv.Hosts {
		h := &inv.Hosts[i]
		var err error
		if h.SSH, err = config.reach(h.SSH, spec.DefaultSSHUser, 0); err != nil {
			return inventory.Inventory{}, fmt.Errorf("%s: %w", h.Name, err)
		}
	}
	return inv, nil
}

// hostOf makes the inventory's host. Labels of the host win over those of its pool.
func hostOf(h spec.Host, shared spec.SSHProvider, role inventory.Role, pool spec.WorkerPool) inventory.Host {
	out := inventory.Host{
		Name:    h.Name,
		Role:    role,
		Pool:    pool.Name,
		Address: h.ClusterAddress(),
		SSH:     sshOf(h, shared.SSHSettings),
	}
	if len(pool.Labels)+len(h.Labels) > 0 {
		out.Labels = make(map[string]string, len(pool.Labels)+len(h.Labels))
		maps.Copy(out.Labels, pool.Labels)
		maps.Copy(out.Labels, h.Labels)
	}
	for _, t := range pool.Taints {
		out.Taints = append(out.Taints, inventory.Taint(t))
	}
	return out
}

// sshOf says how the host is reached as far as the spec does: what the host sets itself, else what all
// hosts share. A spec that was loaded has that merged already; one made in code may not.
func sshOf(h spec.Host, shared spec.SSHSettings) inventory.SSH {
	out := inventory.SSH{
		Address:        h.Address,
		Port:           cmp.Or(h.Port, shared.Port),
		User:           cmp.Or(h.User, shared.User),
		KeyPath:        cmp.Or(h.KeyPath, shared.KeyPath),
		KnownHostsPath: cmp.Or(h.KnownHostsPath, shared.KnownHostsPath),
		Insecure:       h.InsecureHostKey || shared.InsecureHostKey,
		SudoPassword:   h.SudoPassword || shared.SudoPassword,
	}
	if b := cmp.Or(h.Bastion, shared.Bastion); b != nil {
		out.Bastion = &inventory.SSH{
			Address:        b.Address,
			Port:           b.Port,
			User:           cmp.Or(b.User, out.User),
			KeyPath:        cmp.Or(b.KeyPath, out.KeyPath),
			KnownHostsPath: out.KnownHostsPath,
			Insecure:       out.Insecure,
		}
	}
	return out
}
