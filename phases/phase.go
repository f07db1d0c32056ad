package phases

import (
	"maps"

	"clusterctl/components/resource"
	"clusterctl/phases/health"
	"clusterctl/phases/plan"
	"clusterctl/provision/inventory"
)

// Phase is one step of a runbook, as data.
type Phase struct {
	Name, Doc string
	// Waves gives what must be there; a wave begins when the one before it is done.
	Waves func(c *Cluster, skip map[string]bool) ([]Wave, error)
	// Gates must hold before the next phase. May be nil.
	Gates func(e *Env) []health.Condition
}

// Wave is resources that hosts may get at the same time.
type Wave struct {
	Resources []resource.Resource
	// Gates must hold for each host of a batch before the next batch. May be nil.
	Gates func(e *Env, h inventory.Host) []health.Condition
	// Before must hold for each host of a batch that restarts something, before it does. May be nil.
	Before func(e *Env, h inventory.Host) []health.Condition
	// Last are control planes that are restarted after the others.
	Last []string
	// Apart is hosts whose etcd member runs one by one, also where nothing is restarted: what travels
	// takes disk and processor from the member, and a majority must not feel that at once.
	Apart bool
	// Drains moves the pods of workers away before they are restarted, where they would feel it.
	Drains bool
	// Restarted is gates for a wave that restarts something. On a first start a later phase waits
	// for the same, and other work goes on meanwhile. May be nil.
	Restarted func(e *Env, h inventory.Host) []health.Condition
	// Entry must hold before the wave's first step; a wave without steps asks nothing. May be nil.
	Entry func(e *Env) []health.Condition
	// Undo is what is brought about when the wave goes wrong, so that it leaves nothing half done.
	Undo []resource.Resource
}

// Planned is a phase with its steps.
type Planned struct {
	Phase Phase
	Waves []PlannedWave
}

// PlannedWave is a wave with its steps, in batches.
type PlannedWave struct {
	Wave    Wave
	Batches []plan.Batch
}

// Len is the number of steps.
func (p Planned) Len() int {
	n := 0
	for _, w := range p.Waves {
		for _, b := range w.Batches {
			n += b.Len()
		}
	}
	return n
}

// Steps is the number of steps of a whole plan.
func Steps(planned []Planned) int {
	n := 0
	for _, p := range planned {
		n += p.Len()
	}
	return n
}

// Plan compares a runbook with facts. It is pure: the steps of each phase are modelled before
// the next is compared, so a resource that several phases name is done once, by the first.
func Plan(c *Cluster, runbook []Phase, facts resource.Facts, skip map[string]bool) ([]Planned, error) {
	c = c.remembering()
	model, known := maps.Clone(facts), c.Known()
	if model == nil {
		model = resource.Facts{}
	}
	unavailable, err := plan.Unavailable(len(c.Inventory.Workers()), c.Spec.MaxUnavailable())
	if err != nil {
		return nil, err
	}
	var out []Planned
	for _, phase := range runbook {
		waves, err := phase.Waves(c, skip)
		if err != nil {
			return nil, err
		}
		planned := Planned{Phase: phase}
		for _, w := range waves {
			steps := plan.Diff(unique(w.Resources), model)
			for _, s := range steps {
				plan.Model(model, s)
			}
			planned.Waves = append(planned.Waves, PlannedWave{Wave: w, Batches: plan.Batches(steps, known, c.order(w, unavailable))})
		}
		out = append(out, planned)
	}
	return out, nil
}

// order is how hosts of a wave are restarted one after the other.
func (c *Cluster) order(w Wave, unavailable int) plan.Order {
	apart := func(name string) bool { return w.Apart && c.Running[name]["etcd"] != "" }
	return plan.Order{Unavailable: unavailable, Last: w.Last, Apart: apart, Drain: func(name string) bool {
		h, ok := c.Inventory.Get(name)
		return ok && w.Drains && c.drains(h)
	}}
}

// Wants is everything that a runbook names, each resource once.
func Wants(c *Cluster, runbook []Phase, skip map[string]bool) ([]resource.Resource, error) {
	c = c.remembering()
	var out []resource.Resource
	for _, phase := range runbook {
		waves, err := phase.Waves(c, skip)
		if err != nil {
			return nil, err
		}
		for _, w := range waves {
			out = append(out, w.Resources...)
		}
	}
	return unique(out), nil
}

// unique keeps the first of each key: components that share a file name it both.
func unique(rs []resource.Resource) []resource.Resource {
	seen := make(map[resource.Key]bool, len(rs))
	out := make([]resource.Resource, 0, len(rs))
	for _, r := range rs {
		if !seen[r.Key()] {
			seen[r.Key()] = true
			out = append(out, r)
		}
	}
	return out
}
