package phases

import (
	"fmt"

	"clusterctl/components/release"
	"clusterctl/phases/upgrade"
)

// Former is the release that the cluster comes from and that its control plane emulates; nil when the
// spec does not want it, or when there is nothing to go back to. What runs decides, and no file.
func Former(c *Cluster) (*release.Release, error) {
	if !c.Spec.Spec.UpgradePolicy.Emulate {
		return nil, nil
	}
	v, err := upgrade.Former(upgrade.Request{Running: c.Running, Emulating: c.Emulating, To: c.Release})
	if err != nil || v == "" {
		return nil, err
	}
	former, err := release.For(v)
	if err != nil {
		return nil, fmt.Errorf("upgradePolicy.emulate keeps a way back to %s, which runs: %w; go to one of these first", v, err)
	}
	return &former, nil
}

// emulate takes the release that the cluster comes from, and tells whether it is another one than was
// known. Its bundle must be there: without it there is no way back.
func (e *Env) emulate() (changed bool, err error) {
	c := e.Cluster
	former, err := Former(c)
	if err != nil || versionOf(former) == versionOf(c.Release.Former) {
		return false, err
	}
	c.Release.Former, c.FormerBinaries = former, nil
	if former == nil {
		return true, nil
	}
	if c.FormerBinaries, err = e.Bundle(former.Kubernetes); err != nil {
		err = fmt.Errorf("upgradePolicy.emulate keeps a way back to %s: %w", former.Kubernetes, err)
	}
	return true, err
}

func versionOf(r *release.Release) string {
	if r == nil {
		return ""
	}
	return r.Kubernetes
}
