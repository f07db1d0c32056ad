package phases

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"clusterctl/phases/apply"
	"clusterctl/phases/drain"
	"clusterctl/phases/health"
	"clusterctl/phases/plan"
	"clusterctl/provision/event"
	"clusterctl/provision/host"
)

// unitError says that a unit of a host did not start.
type unitError struct {
	host string
	err  error
}

func (e *unitError) Error() string { return e.err.Error() }
func (e *unitError) Unwrap() error { return e.err }

// unitFailed marks an error of a step that started a unit: the host said so itself. A lost link
// says nothing about the unit.
func unitFailed(name string, s plan.Step, err error) error {
	if _, said := errors.AsType[*host.ExitError](err); said && s.Verb == plan.Restart {
		return &unitError{name, err}
	}
	return err
}

// broken lists the hosts whose units did not start or did not become healthy.
func broken(err error) []string {
	switch e := err.(type) {
	case nil:
		return nil
	case *unitError:
		return []string{e.host}
	case *health.Error:
		if _, stuck := errors.AsType[*drain.StuckError](e); stuck {
			return nil // nothing was restarted yet
		}
		return []string{e.Condition.Host}
	case interface{ Unwrap() []error }:
		var out []string
		for _, one := range e.Unwrap() {
			out = append(out, broken(one)...)
		}
		return out
	case interface{ Unwrap() error }:
		return broken(e.Unwrap())
	}
	return nil
}

// keep sets aside what a batch replaces on a host where it restarts something.
func (e *Env) keep(ctx context.Context, b plan.Batch, name string) error {
	if !b.Restarts(name) {
		return nil
	}
	h, err := e.Hosts.Get(name)
	if err != nil {
		return err
	}
	return at(name, apply.Keep(ctx, h, b.Steps[name]))
}

// settle ends a batch: what was set aside is dropped when all is well. Where a unit that ran before
// does not come up with what is new, its host goes back to what it ran, as a whole: a bad version
// or argument costs one restart and no host. The run ends with the cause in any case.
func (e *Env) settle(ctx context.Context, w PlannedWave, b plan.Batch, cause error, phase string, to event.Sink) error {
	bad := broken(cause)
	for _, name := range b.Hosts {
		if !b.Restarts(name) || e.leftOut(name) || ctx.Err() != nil {
			continue
		}
		h, err := e.Hosts.Get(name)
		switch {
		case err != nil:
		case slices.Contains(bad, name):
			err = e.putBack(ctx, h, w, b, phase, to)
			if err == nil {
				err = fmt.Errorf("%s was put back to what it ran before and is healthy again; the hosts after it were not touched", name)
			}
		case cause == nil:
			err = apply.Forget(ctx, h, b.Steps[name])
		}
		cause = joined(cause, err)
	}
	return cause
}

// joined adds what became of a host to the cause, on lines of its own.
func joined(cause, more error) error {
	if more == nil {
		return cause
	}
	return errors.Join(cause, more)
}

func (e *Env) putBack(ctx context.Context, h host.Host, w PlannedWave, b plan.Batch, phase string, to event.Sink) (err error) {
	name := h.Name()
	to.Emit(event.Event{Time: time.Now(), Kind: event.StepStart, Phase: phase, Host: name, Text: "put back what ran before"})
	defer func() {
		to.Emit(event.Event{Time: time.Now(), Kind: event.StepEnd, Phase: phase, Host: name, Text: "put back what ran before", Err: err})
	}()
	if err := apply.Revert(ctx, h, b.Steps[name]); err != nil {
		return at(name, err)
	}
	alone := plan.Batch{Hosts: []string{name}, Steps: b.Steps}
	if err := health.Wait(ctx, batchGates(e, w, alone), phase, to); err != nil {
		return fmt.Errorf("%s was put back to what it ran before, and is not healthy: %w", name, err)
	}
	return nil
}
