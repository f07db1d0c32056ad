package cli

import (
	"context"
	"errors"
	"time"

	"clusterctl/phases/lock"
	"clusterctl/phases/state"
	"clusterctl/provision/host"
	"clusterctl/provision/inventory"
)

// activeRun is a command that changes the cluster, from the moment when nobody else may.
type activeRun struct {
	*session
	who     state.Holder
	command string
	id      string
	journal *state.Journal
}

// exclusively does the work of a command that changes the cluster: under the lock of this machine
// and, on the control planes of inv, that of the cluster, with its beginning and end in the
// journal. An inventory without control planes is for hosts that do not exist yet: see activeRun.hold.
// The context that do is given ends when the lock is lost.
func (s *session) exclusively(ctx context.Context, command string, inv inventory.Inventory, do func(context.Context, *activeRun) error) error {
	r := &activeRun{session: s, command: command, who: holder(command + " " + s.spec.Path), id: time.Now().UTC().Format("20060102T150405.000Z")}
	unlock, err := s.state.LockLocal(ctx, r.who)
	if err != nil {
		return err
	}
	defer unlock()
	return r.hold(ctx, inv, lock.Options{}, func(ctx context.Context) error { return r.journalled(ctx, do) })
}

// hold does work under the cluster's lock: the one that runs on other machines meet. An error that
// is owed to its loss says so.
func (r *activeRun) hold(ctx context.Context, inv inventory.Inventory, o lock.Options, work func(context.Context) error) error {
	pool := host.NewPool(inv, r.fleet.Open) // connections of its own: they live as long as the lock
	defer pool.Close()
	hosts, err := planes(pool, inv)
	if err != nil {
		return err
	}
	if len(hosts) == 0 {
		return work(ctx)
	}
	locked, held, err := lock.Take(ctx, hosts, r.who, o)
	if err != nil {
		return err
	}
	defer held.Release()
	return lock.Blame(locked, work(locked))
}

// planes are the handles of the control planes, in the order of the inventory.
func planes(pool *host.Pool, inv inventory.Inventory) ([]host.Host, error) {
	var out []host.Host
	for _, p := range inv.ControlPlanes() {
		h, err := pool.Get(p.Name)
		if err != nil {
			return nil, err
		}
		out = append(out, h)
	}
	return out, nil
}

// journalled writes the beginning and the end of do in the journal.
func (r *activeRun) journalled(ctx context.Context, do func(context.Context, *activeRun) error) (err error) {
	if r.journal, err = r.state.Journal(); err != nil {
		return err
	}
	defer r.journal.Close()
	if err := r.journal.Begin(time.Now(), r.id, r.command); err != nil {
		return err
	}
	err = lock.Blame(ctx, do(ctx, r))
	if endErr := r.journal.End(time.Now(), r.id, r.command, result(ctx, err), err); err == nil {
		return endErr
	}
	return err
}

// result is the journal's word for how a run ended.
func result(ctx context.Context, err error) string {
	_, lost := errors.AsType[*lock.LostError](context.Cause(ctx))
	switch {
	case err == nil:
		return state.Done
	case ctx.Err() != nil && !lost:
		return state.Interrupted
	}
	return state.Failed
}

// record writes a step in the journal.
func (r *activeRun) record(phase, host, step, result string) {
	// A journal that cannot be written does not stop a run: it decides nothing.
	if err := r.journal.Step(state.Entry{Time: time.Now(), Run: r.id, Command: r.command, Phase: phase, Host: host, Step: step, Result: result}); err != nil {
		r.log.Warn("write journal", "error", err)
	}
}
