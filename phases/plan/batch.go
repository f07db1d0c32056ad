package plan

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/intstr"

	"clusterctl/components/resource"
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
func (b Batch) Interrupts() bool { return slices.ContainsFunc(b.Hosts, b.Restarts) }

// Restarts tells whether something that runs on a host is restarted.
func (b Batch) Restarts(host string) bool { return restarts(b.Steps[host]) }

// Order says how hosts follow each other on which something is restarted.
type Order struct {
	Unavailable int               // workers that are restarted at the same time
	Last        []string          // control planes that come after the others
	Apart       func(string) bool // hosts that come one by one, also where nothing is restarted; nil: none
	Drain       func(string) bool // workers whose pods are moved away first; nil: none
}

// Batches orders steps so that the cluster goes on serving: hosts where nothing that runs is
// restarted come first and all together (of those that the order sets apart one; the others follow
// one by one), then control planes one by one, then workers in groups. What is down is started before
// anything that is up is stopped. A node that is drained is opened again in a batch of its own, so
// that the gates of its restart stand between.
func Batches(steps []Step, inv inventory.Inventory, order Order) []Batch {
	byHost := map[string][]Step{}
	for _, s := range steps {
		byHost[s.Key.Host] = append(byHost[s.Key.Host], s)
	}
	together := Batch{Steps: map[string][]Step{}}
	var planes, workers []string
	var apart []Batch
	taken := false // by one that is set apart: it shares the first batch with those that are not
	for _, name := range append([]string{""}, hostNames(inv)...) {
		steps := byHost[name]
		h, _ := inv.Get(name)
		switch {
		case len(steps) == 0:
		case !restarts(steps) && taken && order.Apart(name):
			apart = append(apart, Batch{Hosts: []string{name}, Steps: map[string][]Step{name: steps}})
		case !restarts(steps):
			taken = taken || order.Apart != nil && order.Apart(name)
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
	out = append(out, apart...)
	for _, name := range behind(planes, func(name string) bool { return slices.Contains(order.Last, name) }) {
		out = append(out, order.restart([]string{name}, byHost, false)...)
	}
	// Nodes that an earlier run left without pods come first: they are half done.
	workers = behind(workers, func(name string) bool { _, open := parted(byHost[name]); return open == nil })
	for len(workers) > 0 {
		n := min(max(order.Unavailable, 1), len(workers))
		out = append(out, order.restart(workers[:n], byHost, true)...)
		workers = workers[n:]
	}
	return out
}

// behind moves the names for which is holds behind the others.
func behind(names []string, is func(string) bool) []string {
	var first, last []string
	for _, name := range names {
		if is(name) {
			last = append(last, name)
			continue
		}
		first = append(first, name)
	}
	return append(first, last...)
}

// restart is the batches in which hosts are restarted: their pods go, the work is done, and in a
// batch behind that pods may come again.
func (o Order) restart(names []string, byHost map[string][]Step, workers bool) []Batch {
	work, open := Batch{Hosts: names, Steps: map[string][]Step{}}, Batch{Steps: map[string][]Step{}}
	for _, name := range names {
		steps, uncordon := parted(byHost[name])
		if workers && o.Drain != nil && o.Drain(name) {
			node := resource.Scheduling{Host: name}
			away := resource.Scheduling{Host: name, Drained: true}
			steps = append([]Step{{Key: away.Key(), Verb: Drain, Why: "its pods would feel what follows", Want: away}}, steps...)
			uncordon = &Step{Key: node.Key(), Verb: Uncordon, Why: "this run drains it", Want: node}
		}
		work.Steps[name] = steps
		if uncordon != nil {
			open.Hosts = append(open.Hosts, name)
			open.Steps[name] = []Step{*uncordon}
		}
	}
	if len(open.Hosts) == 0 {
		return []Batch{work}
	}
	return []Batch{work, open}
}

// parted takes the step out that opens a node again.
func parted(steps []Step) (rest []Step, uncordon *Step) {
	for _, s := range steps {
		if s.Verb == Uncordon {
			uncordon = &s
			continue
		}
		rest = append(rest, s)
	}
	return rest, uncordon
}

// Unavailable is how many of total hosts may be away at the same time for a number or a
// percentage such as 10%: never none, and never all of several.
func Unavailable(total int, most intstr.IntOrString) (int, error) {
	n, err := intstr.GetScaledValueFromIntOrPercent(&most, total, false)
	return max(1, min(n, total-1)), err
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
