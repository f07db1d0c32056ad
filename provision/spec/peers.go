package spec

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Loaded is one of several spec files.
type Loaded struct {
	Path    string
	Cluster *Cluster // nil when Err is not
	Err     error    // what Load would say, and where the cluster meets its peers
}

// LoadAll is Load for several files, in their order. Clusters of which one names another as its peer
// must have pod, service and host addresses that are apart, and no two may have the same name in one
// directory, where they would share their state.
func LoadAll(paths []string) []Loaded {
	out := make([]Loaded, len(paths))
	files := make([]*validator, len(paths))
	for i, path := range paths {
		out[i].Path = path
		data, err := readFile(path)
		if err == nil {
			files[i], err = parse(path, data)
		}
		out[i].Err = err
	}
	for i, v := range files {
		if v == nil {
			continue
		}
		for _, other := range files[:i] {
			if other != nil {
				v.checkTwin(other)
				v.checkPeer(other)
			}
		}
	}
	for i, v := range files {
		switch {
		case v == nil:
		case len(v.problems) > 0:
			out[i].Err = &Error{Path: v.c.Path, Problems: sortProblems(v.problems)}
		default:
			out[i].Cluster = v.c
		}
	}
	return out
}

// checkTwin refuses two clusters that would have the same state or, in two directories, the same name.
func (v *validator) checkTwin(other *validator) {
	if v.c.Metadata.Name == other.c.Metadata.Name {
		path := field.NewPath("metadata", "name")
		v.add(path, fmt.Sprintf("%s is the name of the cluster in %s too", v.c.Metadata.Name, other.placeOf(path)), "give each cluster a name of its own")
	}
}

// placeOf is where a field is in its file: prod.yaml:12.
func (v *validator) placeOf(path *field.Path) string {
	return fmt.Sprintf("%s:%d", v.c.Path, v.position(path.String()).line)
}

// checkPeer compares everything that has an address with that of a peer.
func (v *validator) checkPeer(peer *validator) {
	if !slices.Contains(v.c.Spec.Peers, peer.c.Metadata.Name) && !slices.Contains(peer.c.Spec.Peers, v.c.Metadata.Name) {
		return
	}
	const suggestion = "peers need ranges that are apart"
	theirs := func(path *field.Path) string {
		return fmt.Sprintf("of %s of its peer %s (%s)", path, peer.c.Metadata.Name, peer.placeOf(path))
	}
	for _, a := range v.ranges() {
		for _, b := range peer.ranges() {
			if a.Overlaps(b.Prefix) {
				v.add(a.path, fmt.Sprintf("%s overlaps %s %s", a.Prefix, b.Prefix, theirs(b.path)), suggestion)
			}
		}
		for _, b := range peer.usedAddresses() {
			if a.Contains(b.Addr) {
				v.add(a.path, fmt.Sprintf("%s holds %s %s", a.Prefix, b.Addr, theirs(b.path)), suggestion)
			}
		}
	}
	for _, a := range v.usedAddresses() {
		for _, b := range peer.ranges() {
			if b.Contains(a.Addr) {
				v.add(a.path, fmt.Sprintf("%s is inside %s %s", a.Addr, b.Prefix, theirs(b.path)), suggestion)
			}
		}
	}
	v.checkPeerHosts(peer, theirs)
}

// checkPeerHosts refuses a host that is in two clusters.
func (v *validator) checkPeerHosts(peer *validator, theirs func(*field.Path) string) {
	for a, at := range v.c.hosts() {
		for b, there := range peer.c.hosts() {
			if a.ClusterAddress().IsValid() && a.ClusterAddress() == b.ClusterAddress() {
				v.add(at.Child("address"), fmt.Sprintf("%s is the address %s too", a.ClusterAddress(), theirs(there.Child("address"))), "a host is in one cluster")
			}
		}
	}
}
