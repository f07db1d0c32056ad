package phases_test

import (
	"fmt"
	"strings"
	"testing"

	"clusterctl/e2e/golden"
	"clusterctl/phases"
)

// TestEveryExampleHasItsPlan holds what a first up of every example does: by phase, batch and host.
func TestEveryExampleHasItsPlan(t *testing.T) {
	for name, c := range examples(t) {
		t.Run(name, func(t *testing.T) {
			golden.Check(t, "testdata/"+strings.TrimSuffix(name, ".yaml")+".plan", titles(planOf(t, c, phases.Up(), nil)))
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
