package release

import "slices"

// emulators are the components that can behave as those of an older minor version
// (k8s.io/component-base/compatibility; kubelet and kube-proxy have no such flag).
var emulators = []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"}

// Emulates tells whether a unit's program can behave as one of an older minor version.
func Emulates(unit string) bool { return slices.Contains(emulators, unit) }

// Of gives the release that a unit's program is taken from: while a former one is emulated, all that
// cannot emulate stays with it.
func (r Release) Of(unit string) Release {
	if r.Former == nil || Emulates(unit) {
		return r
	}
	return *r.Former
}

// Emulated is the minor version that the control plane behaves as, such as 1.36; empty: its own.
func (r Release) Emulated() string {
	if r.Former == nil {
		return ""
	}
	major, minor := majorMinor(r.Former.Kubernetes)
	return major + "." + minor
}

// Wanted is what a unit whose program is of a component must run, written as As does.
func (r Release) Wanted(unit, component string) string {
	v := r.Of(unit).Version(component)
	if Emulates(unit) {
		return As(v, r.Emulated())
	}
	return v
}

// As writes a version together with the minor version that is emulated: v1.37.2 as v1.36.
func As(version, emulated string) string {
	if emulated == "" {
		return version
	}
	return version + " as v" + emulated
}
