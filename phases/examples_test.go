package phases_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pmezard/go-difflib/difflib"

	"clusterctl/phases"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// TestEveryExampleHasItsPlan holds what a first up of every example does: by phase, batch and host.
func TestEveryExampleHasItsPlan(t *testing.T) {
	for name, c := range examples(t) {
		t.Run(name, func(t *testing.T) {
			golden(t, strings.TrimSuffix(name, ".yaml")+".plan", titles(planOf(t, c, phases.Up(), nil)))
		})
	}
}

// titles is a plan as a reader would skim it: what several hosts get alike is written once.
func titles(planned []phases.Planned) string {
	var b strings.Builder
	for _, p := range planned {
		fmt.Fprintf(&b, "%s: %d steps\n", p.Phase.Name, p.Len())
		for _, w := range p.Waves {
			for _, batch := range w.Batches {
				shown := map[string]string{}
				for _, host := range batch.Hosts {
					var steps strings.Builder
					for _, s := range batch.Steps[host] {
						fmt.Fprintf(&steps, "    %s %s\n", s.Verb, s.Want.Title())
					}
					name := host
					if name == "" {
						name = "the cluster"
					}
					if first, ok := shown[steps.String()]; ok {
						fmt.Fprintf(&b, "  %s\n    as %s\n", name, first)
						continue
					}
					shown[steps.String()] = name
					fmt.Fprintf(&b, "  %s\n%s", name, steps.String())
				}
			}
		}
	}
	return b.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
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
	diff, err := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
		A: difflib.SplitLines(string(want)), B: difflib.SplitLines(got), FromFile: "want", ToFile: "got", Context: 2,
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff != "" {
		t.Errorf("%s (-update writes it):\n%s", path, diff)
	}
}
