// Package upgrade says whether a running cluster may go to another version, and over which ones.
// It is pure: it judges what runs, not what an earlier spec said.
package upgrade

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"

	"clusterctl/components/release"
)

// Request is the question.
type Request struct {
	Running    map[string]map[string]string // by host and unit: version of the running program
	Emulating  map[string]map[string]string // of those that emulate: the minor version, such as 1.36
	To         release.Release
	Supported  []string // versions of Kubernetes that a step may lead to
	Prerelease bool     // alpha, beta and release candidates are meant
	Older      bool     // an older patch version is meant
	Chain      bool     // more than one minor version is meant, one after the other
}

// Path is the answer.
type Path struct {
	Stops   []string // versions of Kubernetes in order, the wanted one last; empty: nothing runs, or all runs as wanted
	Changes []Change // of the first stop, components in their order
}

// Change is one component's way.
type Change struct {
	Component string
	From      []string // versions that run, oldest first, as release.As writes them
	To        string
}

// RefusedError says that the way is not open. Nothing was changed.
type RefusedError struct{ Reasons []string }

func (e *RefusedError) Error() string { return strings.Join(e.Reasons, "\n") }

// ExitCode is the contract's code for a spec that cannot be followed.
func (e *RefusedError) ExitCode() int { return 3 }

// plane are the components that move one minor version at a time; node those that may be older
// than the API servers (Kubernetes, "Version Skew Policy").
var (
	plane = []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"}
	node  = []string{"kubelet", "kube-proxy"}
)

// nodeSkew is how many minor versions a node's components may be older than an API server.
const nodeSkew = 3

// seen is a version that runs somewhere.
type seen struct {
	host, component string
	v               *version.Version
	emulated        string // minor version that the program emulates, such as 1.36; empty: none
}

func (s seen) String() string { return fmt.Sprintf("%s runs %s %s", s.host, s.component, s.text()) }

func (s seen) text() string { return release.As("v"+s.v.String(), s.emulated) }

// behaves is the version that a program behaves as.
func (s seen) behaves() *version.Version {
	if v, err := version.ParseGeneric(s.emulated); err == nil {
		return v
	}
	return s.v
}

// Find gives the way from what runs to r.To, or a *RefusedError with every reason against it.
func Find(r Request) (Path, error) {
	all, err := running(r)
	if err != nil {
		return Path{}, err
	}
	changes := r.changes(all)
	if len(changes) == 0 {
		return Path{}, nil
	}
	to, err := version.ParseSemantic(r.To.Kubernetes)
	if err != nil {
		return Path{}, err
	}
	reasons := r.prerelease(to, all)
	reasons = append(reasons, r.raised(to, all)...)
	reasons = append(reasons, r.backwards(to, all)...)
	stops, more := r.stops(to, of(all, plane...))
	reasons = append(reasons, more...)
	if len(stops) > 0 {
		reasons = append(reasons, skew(stops[0], of(all, node...))...)
	}
	reasons = append(reasons, r.etcd(of(all, "etcd"), stops)...)
	reasons = append(reasons, r.runtime(of(all, "containerd"))...)
	if len(reasons) > 0 {
		return Path{}, &RefusedError{Reasons: reasons}
	}
	return Path{Stops: stops, Changes: changes}, nil
}

// running lists what runs, in the order of hosts and components.
func running(r Request) ([]seen, error) {
	var out []seen
	for _, host := range slices.Sorted(maps.Keys(r.Running)) {
		for _, component := range slices.Sorted(maps.Keys(r.Running[host])) {
			v, err := version.ParseSemantic(r.Running[host][component])
			if err != nil {
				return nil, fmt.Errorf("%s runs %s in a version that cannot be read: %w", host, component, err)
			}
			out = append(out, seen{host, component, v, r.Emulating[host][component]})
		}
	}
	return out, nil
}

func of(all []seen, components ...string) []seen {
	return slices.DeleteFunc(slices.Clone(all), func(s seen) bool { return !slices.Contains(components, s.component) })
}

// oldest and newest, by what programs behave as, are nil when nothing runs.
func oldest(all []seen) *seen { return extreme(all, -1) }
func newest(all []seen) *seen { return extreme(all, 1) }

func extreme(all []seen, sign int) *seen {
	var out *seen
	for i, s := range all {
		if out == nil || compare(s.behaves(), out.behaves()) == sign {
			out = &all[i]
		}
	}
	return out
}

func compare(a, b *version.Version) int {
	switch {
	case a.LessThan(b):
		return -1
	case b.LessThan(a):
		return 1
	}
	return 0
}

// wanted is the version that a component has in a release.
func (r Request) wanted(component string) string {
	if slices.Contains(plane, component) || slices.Contains(node, component) {
		return r.To.Wanted(component, "kubernetes")
	}
	return r.To.Wanted(component, component)
}

func (r Request) changes(all []seen) []Change {
	var out []Change
	for _, component := range slices.Concat([]string{"etcd"}, plane, node, []string{"containerd", "aws-cloud-controller-manager"}) {
		to := r.wanted(component)
		var from []string
		differs := false
		these := of(all, component)
		slices.SortStableFunc(these, func(a, b seen) int { return compare(a.v, b.v) })
		for _, s := range these {
			from = append(from, s.text())
			differs = differs || s.text() != to
		}
		if differs {
			out = append(out, Change{component, slices.Compact(from), to})
		}
	}
	return out
}

// prerelease: a cluster that already runs in the version may go on with it.
func (r Request) prerelease(to *version.Version, all []seen) []string {
	there := slices.ContainsFunc(all, func(s seen) bool { return compare(s.v, to) == 0 && slices.Contains(plane, s.component) })
	if to.PreRelease() == "" || r.Prerelease || there {
		return nil
	}
	return []string{fmt.Sprintf("v%s is a pre-release: it may lose data or have no way on; say --allow-prerelease when that is meant", to)}
}

// backwards refuses what is older than what runs.
func (r Request) backwards(to *version.Version, all []seen) []string {
	s := newest(of(all, slices.Concat(plane, node)...))
	switch {
	case s == nil || !to.LessThan(s.behaves()):
		return nil
	case minor(to) < minor(s.behaves()):
		return []string{fmt.Sprintf("%s, and v%s is an older minor version: stored objects may be newer than it can read; stay, or restore a backup from before the upgrade", s, to)}
	case !r.Older:
		return []string{fmt.Sprintf("%s, and v%s is an older patch version: it lacks fixes that the cluster has; say --allow-older-patch when that is meant", s, to)}
	}
	return nil
}

// minor orders minor versions over majors.
func minor(v *version.Version) uint { return v.Major()*1000 + v.Minor() }

// stops are the versions on the way: one minor at a time, from the oldest that runs.
func (r Request) stops(to *version.Version, plane []seen) (stops, reasons []string) {
	from := oldest(plane)
	if from == nil || minor(to) <= minor(from.behaves())+1 {
		return []string{r.To.Kubernetes}, nil
	}
	var missing []string
	for m := from.behaves().Minor() + 1; m < to.Minor(); m++ {
		best := r.best(to.Major(), m)
		if best == "" {
			missing = append(missing, fmt.Sprintf("v%d.%d", to.Major(), m))
			continue
		}
		stops = append(stops, best)
	}
	stops = append(stops, r.To.Kubernetes)
	text := fmt.Sprintf("%s, and v%s is %d minor versions ahead: one at a time, so v%d.%d is next", from, to, to.Minor()-from.behaves().Minor(), to.Major(), from.behaves().Minor()+1)
	switch {
	case len(missing) > 0:
		return nil, []string{text + "; this clusterctl has no release of " + strings.Join(missing, " and ") + ": use one that has"}
	case !r.Chain:
		return nil, []string{text + "; the way is " + strings.Join(stops, ", ") + ": clusterctl upgrade --chain takes it step by step"}
	}
	return stops, nil
}

// best is the newest supported version of a minor version.
func (r Request) best(major, minor uint) string {
	var out *version.Version
	for _, text := range r.Supported {
		v, err := version.ParseSemantic(text)
		if err == nil && v.Major() == major && v.Minor() == minor && v.PreRelease() == "" && (out == nil || out.LessThan(v)) {
			out = v
		}
	}
	if out == nil {
		return ""
	}
	return "v" + out.String()
}

// skew refuses to move API servers further from a node than it may be behind them.
func skew(stop string, nodes []seen) []string {
	to, err := version.ParseSemantic(stop)
	if err != nil {
		return []string{err.Error()}
	}
	var out []string
	for _, s := range nodes {
		if behind := int(minor(to)) - int(minor(s.v)); behind > nodeSkew {
			out = append(out, fmt.Sprintf("%s, %d minor versions below v%s: nodes may be %d behind; bring it to v%d.%d first, with the API servers as they are: clusterctl upgrade --to VERSION --workers POOL",
				s, behind, to, nodeSkew, to.Major(), to.Minor()-nodeSkew))
		}
	}
	return out
}

// firstTo36 is the first etcd 3.5 that etcd 3.6 can follow (etcd, "Upgrade etcd from v3.5 to v3.6").
const firstTo36 = "3.5.26"

// etcd refuses what etcd cannot: back, more than one minor at a time, and 3.6 on an early 3.5.
func (r Request) etcd(members []seen, stops []string) []string {
	low, high := oldest(members), newest(members)
	if low == nil || len(stops) > 1 { // over several stops, each is judged when it is next
		return nil
	}
	to, err := version.ParseSemantic(r.wanted("etcd"))
	if err != nil {
		return []string{err.Error()}
	}
	switch {
	case minor(to) < minor(high.v) && r.To.Former != nil:
		return []string{fmt.Sprintf("%s, and emulating v%s keeps etcd v%s, so that the cluster can go back: etcd never does; go on with spec.upgradePolicy.emulate: false", high, r.To.Emulated(), to)}
	case minor(to) < minor(high.v):
		return []string{fmt.Sprintf("%s, and the release has etcd v%s: etcd never goes back a minor version; restore a backup", high, to)}
	case to.LessThan(high.v) && !r.Older:
		return []string{fmt.Sprintf("%s, and the release has etcd v%s, an older patch version; say --allow-older-patch when that is meant", high, to)}
	case minor(to) > minor(low.v)+1:
		return []string{fmt.Sprintf("%s, and the release has etcd v%s: etcd moves one minor version at a time", low, to)}
	case low.v.Minor() == 5 && to.Minor() == 6 && low.v.LessThan(version.MustParseSemantic(firstTo36)):
		return []string{fmt.Sprintf("%s: etcd v%s can follow v%s and later only; move to it first", low, to, firstTo36)}
	}
	return nil
}

// runtime refuses an older container runtime: it may not read what the newer one wrote.
func (r Request) runtime(all []seen) []string {
	high := newest(all)
	to, err := version.ParseSemantic(cmp.Or(r.wanted("containerd"), "v0.0.0"))
	if high == nil || err != nil || !to.LessThan(high.v) || r.Older {
		return nil
	}
	return []string{fmt.Sprintf("%s, and the release has containerd v%s, which is older; say --allow-older-patch when that is meant", high, to)}
}
