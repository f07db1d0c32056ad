package view

import (
	"fmt"
	"strings"
)

// BundleDiff is what an upgrade from one bundle to another changes on a host.
type BundleDiff struct {
	From      string           `json:"from"` // versions of Kubernetes
	To        string           `json:"to"`
	Artifacts []ArtifactChange `json:"artifacts"` // that differ
	Bytes     int64            `json:"bytes"`     // that travel to a host which has From
}

// ArtifactChange is one file of two bundles.
type ArtifactChange struct {
	Name string `json:"name"`
	From string `json:"fromVersion"` // empty: not in it
	To   string `json:"toVersion"`
	Size int64  `json:"size"` // bytes, in To
}

// BundleDiff writes d.
func (o Output) BundleDiff(d BundleDiff) error {
	d.Artifacts = orEmpty(d.Artifacts)
	answer := struct {
		Schema string `json:"schema"`
		BundleDiff
	}{schema, d}
	return o.write(answer, func() string {
		if len(d.Artifacts) == 0 {
			return fmt.Sprintf("%s and %s hold the same files.\n", d.From, d.To)
		}
		var rows [][]string
		for _, a := range d.Artifacts {
			rows = append(rows, []string{a.Name, dash(a.From), dash(a.To), humanSize(a.Size)})
		}
		var b strings.Builder
		b.WriteString(o.table([]string{"ARTIFACT", "IN " + d.From, "IN " + d.To, "SIZE"}, rows))
		fmt.Fprintf(&b, "\nA host that has %s receives %s.\n", d.From, humanSize(d.Bytes))
		return b.String()
	})
}
