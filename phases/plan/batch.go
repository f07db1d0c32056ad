package plan

import (
	"math"

	"clusterctl/provision/inventory"
)

// Batch is the steps that are done at the same time on several hosts. Within a host they are
// done in order; the gates of the batch's hosts must hold before the next batch.
type Batch struct {
	Hosts []string          // in inventory order; "" is the cluster as a whole
	Steps map[string][]Step // by host
}

// Len is the number of steps.
func (b Batch) Len() int {
	n := 0
	for _, steps := range b.Steps {
		n += len(steps)
	}
	return n
}

// Interrupts tells whether something that runs is restarted.
func (b Batch) Interrupts() bool {
	for _, steps := range b.Steps {
		if restarts(steps) {
			return true
		}
	}
	return false
}

// Batches orders steps so that the cluster goes on serving: hosts where nothing that runs is
// restarted come first and all together, then control planes one by one, then workers in groups
// of maxUnavailable. What is down is started before anything that is up is stopped.
func Batches(steps []Step, inv inventory.Inventory, maxUnavailable int) []Batch {
	byHost := map[string][]Step{}
	for _, s := range steps {
		byHost[s.Key.Host] = append(byHost[s.Key.Host], s)
	}
	together := Batch{Steps: map[string][]Step{}}
	var planes, workers []string
	for _, name := range append([]string{""}, hostNames(inv)...) {
		steps := byHost[name]
		h, _ := inv.Get(name)
		switch {
		case len(steps) == 0:
		case !restarts(steps):
			together.Hosts = append(together.Hosts, name)
			together.Steps[name] = steps
		case h.Role == inventory.ControlPlane:
			planes = append(planes, name)
		default:
			workers = append(workers, name)
		}
	}
	var out []Batch
	if len(together.Hosts) > 0 {
		out = append(out, together)
	}
	for _, name := range planes {
		out = append(out, Batch{Hosts: []string{name}, Steps: map[string][]Step{name: byHost[name]}})
	}
	for len(workers) > 0 {
		n := min(max(maxUnavailable, 1), len(workers))
		b := Batch{Hosts: workers[:n], Steps: map[string][]Step{}}
		for _, name := range b.Hosts {
			b.Steps[name] = byHost[name]
		}
		out, workers = append(out, b), workers[n:]
	}
	return out
}

// Share is the number of hosts that percent of total is: never zero.
func Share(total, percent int) int {
	return max(1, int(math.Floor(float64(total)*float64(percent)/100)))
}

func restarts(steps []Step) bool {
	for _, s := range steps {
		if s.Verb == Restart {
			return true
		}
	}
	return false
}

func hostNames(inv inventory.Inventory) []string {
	var out []string
	for _, h := range inv.Hosts {
		out = append(out, h.Name)
	}
	return out
}
