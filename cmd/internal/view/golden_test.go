package view

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var updateGolden = flag.Bool("update", false, "write the golden files instead of comparing with them")

// golden compares got with testdata/name.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *updateGolden {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
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
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; -update writes it):\n%s", path, diff)
	}
}

// outputs is every way in which a result is compared with a golden file.
func outputs() map[string]Output {
	return map[string]Output{
		"txt":       {},
		"80.txt":    {Width: 80},
		"120.txt":   {Width: 120},
		"color.txt": {Width: 120, Color: true},
		"json":      {Format: JSON},
	}
}

// goldens writes a result in the ways that suffixes name and compares each.
func goldens(t *testing.T, name string, write func(Output) error, suffixes ...string) {
	t.Helper()
	for _, suffix := range suffixes {
		o := outputs()[suffix]
		t.Run(suffix, func(t *testing.T) {
			var b bytes.Buffer
			o.W = &b
			if err := write(o); err != nil {
				t.Fatal(err)
			}
			golden(t, name+"."+suffix, b.String())
		})
	}
}
