package status

import (
	"slices"
	"strings"

	"clusterctl/components/release"
)

// Component is a program of ours that runs on a host.
type Component struct {
	Name    string // of its unit
	OnDisk  string // versions installed, oldest first
	Running string
	Wanted  string // in the spec's release
}

// componentVersions reads the script's answer.
func componentVersions(text string, r release.Release) []Component {
	disk := map[string][]string{} // versions by project
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
			out = append(out, Component{Name: f[1], Running: p[3], Wanted: r.Version(p[2]), OnDisk: p[2]})
		}
	}
	for i, c := range out {
		out[i].OnDisk = list(slices.Clone(disk[c.OnDisk]))
	}
	return out
}
