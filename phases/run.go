package phases

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"clusterctl/components"
	"clusterctl/components/resource"
	"clusterctl/phases/apply"
	"clusterctl/phases/health"
	"clusterctl/phases/observe"
	"clusterctl/phases/plan"
	"clusterctl/provision/event"
	"clusterctl/provision/host"
	"clusterctl/provision/inventory"
)

// Observed is what all hosts and the API said.
type Observed struct {
	Facts   resource.Facts
	Reports map[string]observe.Report
	Errors  map[string]error // hosts that could not be asked
	Away    map[string]error // of them those that leave the cluster
}

// Observe asks every host once, all at the same time, and then, where an API server runs, the
// API. Hosts in absent do not exist or do not run yet and are not asked. The settings of the
// cluster's components follow what the hosts report; where that changes which programs are wanted,
// hosts are asked again, for those.
func Observe(ctx context.Context, e *Env, runbook []Phase, absent map[string]bool, parallel int) (Observed, error) {
	out, objects, err := askHosts(ctx, e, runbook, absent, parallel)
	if err != nil {
		return out, err
	}
	changed, err := e.emulate()
	if changed && err == nil {
		out, objects, err = askHosts(ctx, e, runbook, absent, parallel)
	}
	if err != nil {
		return out, err
	}
	if err := observeEtcd(ctx, e, out); err != nil {
		return out, err
	}
	if err := observeAPI(ctx, e, out, objects); err != nil {
		return out, err
	}
	e.Cluster.settle(out)
	return out, nil
}

// askHosts asks every host; objects is what the API knows.
func askHosts(ctx context.Context, e *Env, runbook []Phase, absent map[string]bool, parallel int) (out Observed, objects []resource.Resource, err error) {
	out = Observed{Reports: map[string]observe.Report{}, Errors: map[string]error{}, Away: map[string]error{}}
	wants, err := Wants(e.Cluster, runbook, nil)
	if err != nil {
		return out, nil, err
	}
	out.Facts = make(resource.Facts, len(wants)) // of a thousand hosts: it does not grow on the way
	byHost := map[string][]resource.Resource{}
	for _, w := range append(wants, dataOf(e.Cluster)...) {
		where := w.Key().Host
		if w.Key().Kind == resource.KindSchedule {
			where = "" // the API knows
		}
		byHost[where] = append(byHost[where], w)
	}
	var mu sync.Mutex
	err = host.ForEach(ctx, parallel, e.Cluster.asked(absent), func(ctx context.Context, h inventory.Host) error {
		handle, err := e.Hosts.Get(h.Name)
		if err != nil {
			return err
		}
		facts, report, err := observe.Host(ctx, handle, byHost[h.Name], true)
		mu.Lock()
		defer mu.Unlock()
		if _, stays := e.Cluster.Inventory.Get(h.Name); err != nil && !stays {
			out.Away[h.Name] = err
			return nil
		}
		if err != nil {
			out.Errors[h.Name] = err
			return nil
		}
		for k, v := range facts {
			out.Facts[k] = v
		}
		out.Reports[h.Name] = report
		return nil
	})
	if err != nil || ctx.Err() != nil {
		return out, nil, errors.Join(err, ctx.Err())
	}
	e.Cluster.Facts, e.Cluster.Running, e.Cluster.Emulating = map[string]components.HostFacts{}, Versions{}, Versions{}
	for name, r := range out.Reports {
		e.Cluster.Facts[name], e.Cluster.Running[name], e.Cluster.Emulating[name] = r.Facts(), r.Running, r.Emulating
	}
	return out, byHost[""], nil
}

func observeAPI(ctx context.Context, e *Env, out Observed, want []resource.Resource) error {
	if !runs(e.Cluster, out.Facts, "kube-apiserver.service") {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	facts, err := e.api.Facts(ctx, want)
	if err != nil {
		// An API that is down is brought up by the phases before the ones that need it.
		out.Errors[""] = fmt.Errorf("ask the API: %w", err)
		return nil
	}
	for k, v := range facts {
		out.Facts[k] = v
	}
	return nil
}

// Remember has hosts write down the digests of artifacts that had to be read and are right: after
// a reboot, once.
func Remember(ctx context.Context, e *Env, facts resource.Facts, parallel int) error {
	read := map[resource.Key]string{} // their digests
	for k, f := range facts {
		if f.Detail == observe.Unremembered {
			read[k] = f.Digest
		}
	}
	if len(read) == 0 {
		return nil
	}
	wants, err := Wants(e.Cluster, Up(), e.Skip)
	if err != nil {
		return err
	}
	right := map[string][]resource.Artifact{}
	for _, w := range wants {
		a, ok := w.(resource.Artifact)
		if ok && read[w.Key()] == w.Digest() {
			right[a.Host] = append(right[a.Host], a)
		}
	}
	return host.ForEach(ctx, parallel, slices.Sorted(maps.Keys(right)), func(ctx context.Context, name string) error {
		h, err := e.Hosts.Get(name)
		if err != nil {
			return err
		}
		return apply.Remember(ctx, h, right[name])
	})
}

// Record is told of every step that is over.
type Record func(phase, host, step, result string)

// Apply carries out a plan: phases in order, within a phase waves in order, within a wave
// batches in order, within a batch hosts together. It stops at the first batch that goes wrong
// or whose gates do not hold, and touches nothing after it.
//
// Where nothing is to be done only the last phase is walked: its gates are those of all others.
func Apply(ctx context.Context, e *Env, planned []Planned, parallel int, to event.Sink, record Record) error {
	if Steps(planned) == 0 && len(planned) > 0 {
		planned = planned[len(planned)-1:]
	}
	for _, p := range planned {
		began := time.Now()
		to.Emit(event.Event{Time: began, Kind: event.PhaseStart, Phase: p.Phase.Name, Text: p.Phase.Doc, Total: p.Len()})
		err := applyPhase(ctx, e, p, parallel, to, record)
		to.Emit(event.Event{Time: time.Now(), Kind: event.PhaseEnd, Phase: p.Phase.Name, Took: time.Since(began), Err: err})
		if err != nil {
			return fmt.Errorf("phase %s: %w", p.Phase.Name, err)
		}
	}
	return e.Left()
}

func applyPhase(ctx context.Context, e *Env, p Planned, parallel int, to event.Sink, record Record) error {
	for _, w := range p.Waves {
		if err := applyWave(ctx, e, p.Phase.Name, w, parallel, to, record); err != nil {
			return undo(ctx, e, p.Phase.Name, w.Wave.Undo, err, parallel, to, record)
		}
	}
	if p.Phase.Gates == nil {
		return nil
	}
	return health.Wait(ctx, p.Phase.Gates(e), p.Phase.Name, to)
}

func applyWave(ctx context.Context, e *Env, phase string, w PlannedWave, parallel int, to event.Sink, record Record) error {
	if len(w.Batches) > 0 && w.Wave.Entry != nil {
		if err := health.Wait(ctx, w.Wave.Entry(e), phase, to); err != nil {
			return err
		}
	}
	for _, b := range w.Batches {
		if b.Interrupts() && w.Wave.Before != nil {
			if err := health.Wait(ctx, eachHost(e, b, w.Wave.Before), phase, to); err != nil {
				return err
			}
		}
		err := applyBatch(ctx, e, phase, b, parallel, to, record)
		if err == nil {
			err = health.Wait(ctx, batchGates(e, w, b), phase, to)
		}
		if err := e.settle(ctx, w, b, err, phase, to); err != nil {
			return err
		}
	}
	return nil
}

// undo brings about what a wave that went wrong must leave behind. An interrupted one is left as
// it is: the next run goes on with it.
func undo(ctx context.Context, e *Env, phase string, want []resource.Resource, cause error, parallel int, to event.Sink, record Record) error {
	if len(want) == 0 || ctx.Err() != nil {
		return cause
	}
	errs := []error{cause}
	for _, r := range want {
		for _, b := range plan.Batches(plan.Diff([]resource.Resource{r}, nil), e.Cluster.Known(), plan.Order{}) {
			if err := applyBatch(ctx, e, phase, b, parallel, to, record); err != nil {
				errs = append(errs, fmt.Errorf("take back: %w", err))
			}
		}
	}
	return errors.Join(errs...)
}

func batchGates(e *Env, w PlannedWave, b plan.Batch) []health.Condition {
	gates := []func(*Env, inventory.Host) []health.Condition{w.Wave.Gates}
	if slices.ContainsFunc(w.Batches, plan.Batch.Interrupts) {
		gates = append(gates, w.Wave.Restarted)
	}
	out := eachHost(e, b, gates...)
	hopeless := map[string]func(context.Context) error{}
	for _, name := range b.Hosts {
		hopeless[name] = e.crashing(name, b.Steps[name])
	}
	for i, c := range out {
		out[i].Hopeless = hopeless[c.Host]
	}
	return out
}

// eachHost gives the conditions of a batch's hosts that are not left out.
func eachHost(e *Env, b plan.Batch, gates ...func(*Env, inventory.Host) []health.Condition) []health.Condition {
	var out []health.Condition
	for _, name := range b.Hosts {
		h, ok := e.Cluster.Inventory.Get(name)
		for _, gate := range gates {
			if ok && gate != nil && !e.leftOut(name) {
				out = append(out, gate(e, h)...)
			}
		}
	}
	return out
}

func applyBatch(ctx context.Context, e *Env, phase string, b plan.Batch, parallel int, to event.Sink, record Record) error {
	return host.ForEach(ctx, parallel, b.Hosts, func(ctx context.Context, name string) error {
		if e.leftOut(name) {
			return nil
		}
		steps := b.Steps[name]
		say := reporter(phase, name, steps, to)
		say(0, nil)
		next := 0
		done := func(s plan.Step) {
			record(phase, name, describe(s), "done")
			next++
			say(next, nil)
		}
		err := e.keep(ctx, b, name)
		if err == nil {
			err = e.applyHost(ctx, phase, name, steps, to, done)
		}
		if err != nil && e.leave(name, err) {
			record(phase, name, describe(steps[min(next, len(steps)-1)]), "left out")
			say(next, err)
			return nil
		}
		if err != nil {
			record(phase, name, describe(steps[min(next, len(steps)-1)]), "failed")
			say(next, err)
			err = unitFailed(name, steps[min(next, len(steps)-1)], err)
		}
		return err
	})
}

// reporter tells of a host's steps: say(n, nil) when n of them are over, say(n, err) when the
// next went wrong.
func reporter(phase, name string, steps []plan.Step, to event.Sink) func(n int, err error) {
	return func(n int, err error) {
		emit := func(kind event.Kind, s plan.Step, err error) {
			to.Emit(event.Event{Time: time.Now(), Kind: kind, Phase: phase, Host: name, Text: describe(s), Err: err})
		}
		switch {
		case err != nil:
			emit(event.StepEnd, steps[min(n, len(steps)-1)], err)
			return
		case n > 0:
			emit(event.StepEnd, steps[n-1], nil)
		}
		if n < len(steps) {
			emit(event.StepStart, steps[n], nil)
		}
	}
}

func describe(s plan.Step) string { return string(s.Verb) + " " + s.Want.Title() }

// applyHost does a host's steps in order: those of its node through the API, the others on it.
func (e *Env) applyHost(ctx context.Context, phase, name string, steps []plan.Step, to event.Sink, done func(plan.Step)) error {
	switch {
	case name == "" && steps[0].Key.Kind == resource.KindNoPods: // no wave has several of these
		return e.evacuateAll(ctx, phase, steps, to, done)
	case name == "" && apply.IsEtcd(steps[0]):
		return apply.Etcd(ctx, e.Etcd(), steps, done)
	case name == "":
		return apply.Cluster(ctx, e.api, steps, done)
	}
	h, err := e.Hosts.Get(name)
	if err != nil {
		return err
	}
	for len(steps) > 0 {
		n := 1
		if steps[0].Key.Kind == resource.KindSchedule {
			err = e.schedule(ctx, phase, steps[0], to)
			if err == nil {
				done(steps[0])
			}
		} else {
			for n < len(steps) && steps[n].Key.Kind != resource.KindSchedule {
				n++
			}
			err = apply.Host(ctx, h, steps[:n], done)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		steps = steps[n:]
	}
	return nil
}
