package cloud

import (
	"context"

	"clusterctl/provision"
	"clusterctl/provision/cloud/engine"
	"clusterctl/provision/spec"
)

// Locks gives who holds the engine's state.
func (p *Provider) Locks(ctx context.Context, s *spec.Cluster) ([]provision.Lock, error) {
	owners, err := p.engine(s).Owners(ctx)
	var out []provision.Lock
	for _, o := range owners {
		out = append(out, provision.Lock{Where: "state of the cloud", User: o.Username, Machine: o.Hostname, PID: o.PID, Since: o.Timestamp})
	}
	return out, err
}

// Unlock takes these locks away. One whose holder runs on this machine stays: an *engine.LockedError.
func (p *Provider) Unlock(ctx context.Context, s *spec.Cluster, locks []provision.Lock) error {
	var owners []engine.Owner
	for _, l := range locks {
		owners = append(owners, engine.Owner{PID: l.PID, Username: l.User, Hostname: l.Machine, Timestamp: l.Since})
	}
	return p.engine(s).Unlock(ctx, owners)
}
