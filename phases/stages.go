package phases

import (
	"slices"
	"strings"

	"clusterctl/phases/plan"
)

// Stage is the restarts of one phase: which units, and which hosts together.
type Stage struct {
	Phase   string
	Units   []string
	Batches [][]string // hosts, one batch after the other
	Drains  bool       // pods leave the hosts of a batch before
}

// Stages is what a plan interrupts, in order.
func Stages(planned []Planned) []Stage {
	var out []Stage
	for _, p := range planned {
		for _, w := range p.Waves {
			s := Stage{Phase: p.Phase.Name}
			drained := Stage{Phase: p.Phase.Name, Drains: true}
			for _, b := range w.Batches {
				if b.Interrupts() {
					into(&s, &drained, b)
				}
			}
			for _, stage := range []Stage{s, drained} {
				if len(stage.Batches) > 0 {
					out = append(out, stage)
				}
			}
		}
	}
	return out
}

func into(plain, drained *Stage, b plan.Batch) {
	s := plain
	for _, name := range b.Hosts {
		for _, step := range b.Steps[name] {
			if step.Verb == plan.Drain {
				s = drained
			}
		}
	}
	for _, name := range b.Hosts {
		for _, step := range b.Steps[name] {
			if unit := strings.TrimSuffix(step.Key.Name, ".service"); step.Verb == plan.Restart && !slices.Contains(s.Units, unit) {
				s.Units = append(s.Units, unit)
			}
		}
	}
	s.Batches = append(s.Batches, b.Hosts)
}

// Until cuts a plan behind a phase, or behind the last steps on a host; false when there is
// neither.
func Until(c *Cluster, planned []Planned, name string) ([]Planned, bool) {
	if i := slices.IndexFunc(planned, func(p Planned) bool { return p.Phase.Name == name }); i >= 0 {
		return planned[:i+1], true
	}
	if _, ok := c.Inventory.Get(name); !ok {
		return planned, false
	}
	for i := len(planned) - 1; i >= 0; i-- {
		for j := len(planned[i].Waves) - 1; j >= 0; j-- {
			w := planned[i].Waves[j]
			k := len(w.Batches) - 1
			for ; k >= 0 && !slices.Contains(w.Batches[k].Hosts, name); k-- {
			}
			if k < 0 {
				continue
			}
			last := planned[i]
			w.Batches = w.Batches[:k+1]
			last.Waves = append(slices.Clone(last.Waves[:j]), w)
			last.Phase.Gates = nil // they are of all hosts, and some are not done
			return append(slices.Clone(planned[:i]), last), true
		}
	}
	return nil, true
}
