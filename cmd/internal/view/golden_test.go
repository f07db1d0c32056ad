package view

import (
	"bytes"
	"testing"

	"clusterctl/e2e/golden"
)

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
			golden.Check(t, "testdata/"+name+"."+suffix, b.String())
		})
	}
}
