package bundle

import (
	"slices"
	"strings"
	"testing"
)

// What only some clusters need is built where it is asked for, and then stays.
func TestPartsAreBuiltOnDemandAndKept(t *testing.T) {
	l := newLab(t)
	part := l.release.Components[0]
	part.Name, part.Part = "cloud", "aws"
	part.Artifacts = slices.Clone(part.Artifacts[:1])
	part.Artifacts[0].Name = "cloud"
	l.release.Components = append(l.release.Components, part)
	names := func() string {
		var out []string
		for _, a := range l.mustBuild().Artifacts() {
			out = append(out, a.Name)
		}
		return strings.Join(out, " ")
	}
	if got := names(); got != "fake fake-image" {
		t.Errorf("without it: %s", got)
	}
	if findings := verify(t.Context(), l.mustBuild(), l.release); len(findings) > 0 {
		t.Errorf("without it: %v", findings)
	}
	l.options.With = []string{"aws"}
	if got := names(); got != "fake fake-image cloud" {
		t.Errorf("with it: %s", got)
	}
	l.options.With = nil
	if got := names(); got != "fake fake-image cloud" {
		t.Errorf("built again: %s", got)
	}
}
