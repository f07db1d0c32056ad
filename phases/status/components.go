package status

import (
	"slices"
	"strings"

	"clusterctl/components/release"
	"clusterctl/phases"
)

// Component is a program of ours that runs on a host.
type Component struct {
	Name    string // of its unit
	OnDisk  string // versions installed, oldest first
	Running string // as release.As writes it
	Wanted  string // the same, in the spec's release
}

// readComponents compares what runs with what is wanted, which depends on what runs everywhere: a
// control plane may emulate the version that the cluster comes from.
func (s *Status) readComponents(c *phases.Cluster, note func(string, ...any)) {
	c.Running, c.Emulating = phases.Versions{}, phases.Versions{}
	for _, h := range s.Hosts {
		c.Running[h.Name], c.Emulating[h.Name] = running(h.answer)
	}
	var err error
	if c.Release.Former, err = phases.Former(c); err != nil {
		note("%v", err)
	}
	if c.Release.Former != nil {
		s.Former = c.Release.Former.Kubernetes
	}
	for i, h := range s.Hosts {
		s.Hosts[i].Components = componentVersions(h.answer, c.Release)
	}
}

// running reads the script's answer: by unit the version that runs, and the minor version that it
// emulates.
func running(text string) (versions, emulating map[string]string) {
	versions, emulating = map[string]string{}, map[string]string{}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 3 {
			continue
		}
		p := strings.Split(strings.Trim(f[2], "/"), "/")
		switch {
		case f[0] == "running" && len(p) == 5: // opt/clusterctl/etcd/v3.7.3/etcd
			versions[f[1]] = p[3]
		case f[0] == "emulating":
			emulating[f[1]] = f[2]
		}
	}
	return versions, emulating
}

// componentVersions reads the script's answer.
func componentVersions(text string, r release.Release) []Component {
	disk := map[string][]string{} // versions by project
	_, emulating := running(text)
	var out []Component
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		p := strings.Split(strings.Trim(f[len(f)-1], "/"), "/")
		switch {
		case len(f) == 2 && f[0] == "disk" && len(p) == 4: // opt/clusterctl/etcd/v3.7.3
			disk[p[2]] = append(disk[p[2]], p[3])
		case len(f) == 3 && f[0] == "running" && len(p) == 5: // opt/clusterctl/etcd/v3.7.3/etcd
			out = append(out, Component{Name: f[1], Running: release.As(p[3], emulating[f[1]]), Wanted: r.Wanted(f[1], p[2]), OnDisk: p[2]})
		}
	}
	for i, c := range out {
		out[i].OnDisk = list(slices.Clone(disk[c.OnDisk]))
	}
	return out
}
