// Package golden compares what tests get with files that hold what is right.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/pmezard/go-difflib/difflib"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// Check fails the test when got is not what the file at path holds. With -update it writes the file.
func Check(t testing.TB, path, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	diff, err := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
		A: difflib.SplitLines(string(want)), B: difflib.SplitLines(got), FromFile: "want", ToFile: "got", Context: 2,
	})
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("%s (-update writes it):\n%s", path, diff)
	}
}
