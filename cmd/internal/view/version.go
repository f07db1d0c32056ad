package view

import (
	"fmt"
	"strings"
)

// Version is what the program is and which Kubernetes versions it can install.
type Version struct {
	Version    string   `json:"version"`            // of this program, such as v0.3.0
	Commit     string   `json:"commit,omitempty"`   // Git commit that it was built from
	Modified   bool     `json:"modified,omitempty"` // with changes that were not committed
	Go         string   `json:"go,omitempty"`       // version of the Go toolchain
	Kubernetes []string `json:"kubernetes"`         // supported versions
}

// Version writes v.
func (o Output) Version(v Version) error {
	v.Kubernetes = orEmpty(v.Kubernetes)
	answer := struct {
		Schema string `json:"schema"`
		Version
	}{schema, v}
	return o.write(answer, func() string {
		var b strings.Builder
		fmt.Fprintf(&b, "clusterctl %s", v.Version)
		switch {
		case v.Commit != "" && v.Modified:
			fmt.Fprintf(&b, " (commit %s, modified)", v.Commit)
		case v.Commit != "":
			fmt.Fprintf(&b, " (commit %s)", v.Commit)
		}
		fmt.Fprintf(&b, "\nGo         %s\nKubernetes %s\n", v.Go, strings.Join(v.Kubernetes, ", "))
		return b.String()
	})
}
