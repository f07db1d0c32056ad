package spec_test

import (
	"path/filepath"
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
