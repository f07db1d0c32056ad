// Package release says what is beside a Kubernetes version: which version of
// each component runs with it, and how each is built from its nested module.
// It is data; package bundle builds it, packages under components configure it.
package release

import (
	"fmt"
	"slices"
	"strings"
)

// Image references. The bundle's images carry these names, and whatever asks
// a runtime for an image (containerd's sandbox setting, manifests) must use
// the same constant: a second spelling is pulled from the internet.
const (
	PauseImage   = "registry.k8s.io/pause:1.0.0"
	CoreDNSImage = "registry.k8s.io/coredns/coredns:v1.15.0"
)

// Kind is what an artifact is on a host.
type Kind string

// The kinds of artifact.
const (
	Binary Kind = "binary" // a program
	Image  Kind = "image"  // an OCI layout tar that holds one program
)

// Release is one Kubernetes version and everything beside it.
type Release struct {
	Kubernetes string // with v: v1.37.2
	Components []Component
	Former     *Release // what the cluster came from, while its control plane emulates that; nil: nothing is emulated
}

// Component is one upstream (or own) project of a release, built from one
// nested module.
type Component struct {
	Name      string
	Version   string // as upstream writes it in a Go module version: v3.7.3
	Dir       string // directory of the nested module below the source root, with slashes
	Part      string // empty: in every bundle; else in those that were built with the part
	Artifacts []Artifact
}

// AWS is the part of what only clusters on AWS need. It would make other bundles larger by a fifth, and
// the first build longer by half.
const AWS = "aws"

// Parts lists what a bundle may be built with.
func Parts() []string { return []string{AWS} }

// Artifact is one file made from a component.
type Artifact struct {
	Name    string // unique in a release
	Kind    Kind
	Package string   // import path within the module, "." for its own main
	Links   []string // file names it is installed as; a multi-call program has several
	Tags    []string // build tags
	Cgo     string   // pkg-config name of the C library it links statically; empty for pure Go
	Stamps  []Stamp  // strings set by the linker
	Checks  []Check  // what the program must answer
	Image   ImageSpec
}

// Stamp is a string variable that the linker sets (-X Symbol=Value).
type Stamp struct{ Symbol, Value string }

// Check is one question to a finished program. Pattern is a regular
// expression with one group, found in its standard output and error; the
// group must be Want.
type Check struct {
	Args    []string // Args[0] is the name it is started by
	Pattern string
	Want    string
	// Server starts an HTTP server for the run and replaces ServerArg in Args
	// by its URL; Pattern is then matched with the User-Agent it was asked
	// with. client-go has its own version, and shows it nowhere else.
	Server bool
}

// ServerArg in Check.Args stands for the URL of the test server.
const ServerArg = "$SERVER"

// ImageSpec is how a program is packed into an image; zero for Kind Binary.
type ImageSpec struct {
	Reference  string
	Entrypoint string // path of the program in the image
	User       string // numeric uid:gid
}

// Supported gives the Kubernetes versions that For knows, newest first.
func Supported() []string { return []string{"v1.37.2", "v1.36.3"} }

// For gives the release of a Kubernetes version (with or without v). The
// error for an unknown one names the supported ones.
func For(kubernetes string) (Release, error) {
	version := "v" + strings.TrimPrefix(kubernetes, "v")
	r := Release{Kubernetes: version}
	switch version {
	case "v1.37.2":
		r.Components = []Component{kubernetesOf(version, "2026-10-27T12:01:04Z"), etcdOf("v3.7.3"), awsCloud("v1.37.1")}
	case "v1.36.3":
		r.Components = []Component{kubernetesOf(version, "2026-07-22T18:07:38Z"), etcdOf("v3.6.16"), awsCloud("v1.36.2")}
	default:
		return Release{}, fmt.Errorf("no release for Kubernetes %q: supported are %s", kubernetes, strings.Join(Supported(), ", "))
	}
	r.Components = append(r.Components, containerd(), runc(), cni(), flannelCNI(), flannel(), crictl(), coredns(), pause(), balancer())
	return r, nil
}

// Component gives the component of that name.
func (r Release) Component(name string) (Component, bool) {
	i := slices.IndexFunc(r.Components, func(c Component) bool { return c.Name == name })
	if i < 0 {
		return Component{}, false
	}
	return r.Components[i], true
}

// PartOf gives the part that an artifact is in; empty: every bundle has it.
func (r Release) PartOf(artifact string) string {
	for _, c := range r.Components {
		if slices.ContainsFunc(c.Artifacts, func(a Artifact) bool { return a.Name == artifact }) {
			return c.Part
		}
	}
	return ""
}

// Version gives the version of a component, empty when it is not in the release.
func (r Release) Version(component string) string {
	c, _ := r.Component(component)
	return c.Version
}
