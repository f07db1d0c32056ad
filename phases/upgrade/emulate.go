package upgrade

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/version"
)

// Former gives the version of Kubernetes that a cluster comes from on its way to the next minor
// version, for a control plane that emulates it until it is raised; empty: it comes from none, or an
// API server of every control plane was raised already. What runs tells: nodes stay behind till then.
func Former(r Request) (string, error) {
	all, err := running(r)
	if err != nil {
		return "", err
	}
	to, err := version.ParseSemantic(r.To.Kubernetes)
	if err != nil {
		return "", err
	}
	servers := of(all, "kube-apiserver")
	if len(servers) > 0 && !slices.ContainsFunc(servers, func(s seen) bool { return minor(s.behaves()) < minor(to) }) {
		return "", nil
	}
	before := newest(slices.DeleteFunc(of(all, slices.Concat(plane, node)...), func(s seen) bool { return minor(s.v)+1 != minor(to) }))
	if before == nil {
		return "", nil
	}
	return "v" + before.v.String(), nil
}

// raised refuses to emulate again where an API server does not any more: what it stored since may be
// newer than the former version can read.
func (r Request) raised(to *version.Version, all []seen) []string {
	if r.To.Former == nil {
		return nil
	}
	var out []string
	for _, s := range of(all, "kube-apiserver") {
		if minor(s.behaves()) >= minor(to) {
			out = append(out, fmt.Sprintf("%s and does not emulate v%s any more, so there is no way back; go on with spec.upgradePolicy.emulate: false", s, r.To.Emulated()))
		}
	}
	return out
}
