package phases

import (
	"slices"

	"clusterctl/components/flannel"
	"clusterctl/components/resource"
	"clusterctl/provision/inventory"
)

// osWaves: first of all a host writes down what will be put on it, then come its own settings.
func osWaves(c *Cluster, skip map[string]bool) ([]Wave, error) {
	waves, err := only(everything, "os")(c, skip)
	if err != nil {
		return nil, err
	}
	var records []resource.Resource
	for _, h := range c.reachable(skip) {
		r, err := c.record(h)
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	waves[0].Resources = append(records, waves[0].Resources...)
	return waves, nil
}

func (c *Cluster) record(h inventory.Host) (resource.Record, error) {
	rs, err := c.onHost(h, nil, everything)
	if err != nil {
		return resource.Record{}, err
	}
	if c.Spec.Spec.Network.CNI == "flannel" {
		f, err := flannel.Conflist(h.Name)
		if err != nil {
			return resource.Record{}, err
		}
		rs = append(slices.Clone(rs), f)
	}
	var paths []string
	for _, r := range rs {
		switch r.Key().Kind {
		case resource.KindFile, resource.KindArtifact, resource.KindLink, resource.KindSeed:
			if !resource.Own(r.Key().Name) {
				paths = append(paths, r.Key().Name)
			}
		}
	}
	slices.Sort(paths)
	return resource.Record{Host: h.Name, Paths: slices.Compact(paths)}, nil
}
