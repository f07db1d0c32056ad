package upgrade

import (
	"fmt"
	"slices"
	"strings"

	"clusterctl/phases/preflight"
)

// CustomAPI is a CustomResourceDefinition.
type CustomAPI struct {
	Name           string
	Stored, Served []string // versions
}

// finding names the versions in which objects may be stored and which nobody can ask for any more;
// false when there are none. The API servers still read them, so an upgrade may go on.
func (a CustomAPI) finding() (preflight.Finding, bool) {
	gone := slices.DeleteFunc(slices.Clone(a.Stored), func(v string) bool { return slices.Contains(a.Served, v) })
	return preflight.Finding{Check: "stored-versions", Severity: preflight.SeverityWarning,
		Message: fmt.Sprintf("objects of %s may be stored as %s, which it does not serve", a.Name, strings.Join(gone, ", ")),
		Remedy:  "write each of them once and take the version out of its status.storedVersions, before the version is taken out of the definition"}, len(gone) > 0
}
