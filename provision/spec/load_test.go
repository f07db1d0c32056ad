package spec_test

import (
	"path/filepath"
	"strings"
	"testing"

	"clusterctl/provision/spec"
)

func TestExamplesLoad(t *testing.T) {
	files, err := filepath.Glob("../../examples/*.yaml")
	if err != nil || len(files) < 3 {
		t.Fatalf("examples: %v %v", files, err)
	}
	for _, f := range files {
		if _, err := spec.Load(f); err != nil {
			t.Errorf("%v", err)
		}
	}
}

// edit is the local example with one text replaced.
func edit(t *testing.T, old, new string) string {
	t.Helper()
	return editOf(t, "local", old, new)
}

func editOf(t *testing.T, kind, old, new string) string {
	t.Helper()
	text := string(spec.Example(kind))
	if strings.Count(text, old) != 1 {
		t.Fatalf("the example has %q %d times, need it once", old, strings.Count(text, old))
	}
	return strings.Replace(text, old, new, 1)
}
