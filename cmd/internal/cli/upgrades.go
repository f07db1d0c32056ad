package cli

import (
	"context"
	"time"

	"clusterctl/components/release"
	"clusterctl/phases"
	"clusterctl/phases/arguments"
	"clusterctl/phases/preflight"
	"clusterctl/phases/upgrade"
)

// request asks whether the cluster may go from what runs to what the spec says.
func (s *session) request(c *phases.Cluster) upgrade.Request {
	r := s.policy
	r.Running, r.Emulating, r.To, r.Supported = c.Running, c.Emulating, c.Release, release.Supported()
	return r
}

// judgeUpgrade asks the new programs and the cluster itself what stands in the way, where the
// cluster moves to another version.
func (s *session) judgeUpgrade(ctx context.Context, v *viewed, e *phases.Env) error {
	if len(v.path.Stops) == 0 {
		return nil
	}
	paths := map[string]string{}
	for _, a := range s.bundle.Artifacts() {
		paths[a.Name] = s.bundle.Path(a)
	}
	vectors, err := phases.Vectors(v.prepared.Cluster, paths)
	if err != nil {
		return err
	}
	if err := arguments.Check(ctx, vectors); err != nil {
		return err
	}
	stored, _, err := s.state.Secrets()
	if err != nil {
		return err
	}
	seen := phases.LookForUpgrade(ctx, e, s.parallel)
	if stored != nil { // else nothing was ever installed from here
		if seen.Ending, err = phases.Ending(v.prepared.Cluster, stored, v.skip, time.Now()); err != nil {
			return err
		}
	}
	found := upgrade.Check(v.path.Stops[0], seen)
	v.findings = append(v.findings, preflight.Ignore(found, s.spec.Spec.Host.IgnorePreflight)...)
	return nil
}
