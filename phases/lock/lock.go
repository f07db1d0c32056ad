// Package lock keeps two changing runs on one cluster apart, also when they come from two
// machines: a lock of the kernel on the control planes, held through an open session.
//
// A run needs a majority of the control planes, taken in the order of the inventory: any two
// majorities share a host, so two runs exclude each other also when each reaches other hosts or
// the first control plane is gone. The lock ends with its holder: a killed process or a cut
// connection ends the session's input, and a host that hears nothing for [Options.Lease] gives the
// holder up. Before that, after [Options.Silence], the holder knows that it is cut off and stops.
// All of this counts time that passes; clocks of machines are not compared.
package lock

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"clusterctl/phases/state"
	"clusterctl/provision/host"
)

// Any, as Options.Need, takes the lock where it can be had: for work that ends with the cluster,
// which must go on when its control planes are gone.
const Any = -1

// Options are the lock's place and times. The zero value is what clusters use.
type Options struct {
	File    string        // on the hosts; default /run/clusterctl.lock
	Renew   time.Duration // how often the holder shows that it is there; default 10 s
	Silence time.Duration // a host that does not answer for so long is lost; default 30 s
	Lease   time.Duration // a holder that is silent for so long is given up; default 60 s
	Need    int           // hosts that must be held; default: the majority
}

func (o Options) withDefaults(hosts int) Options {
	if o.File == "" {
		o.File = "/run/clusterctl.lock"
	}
	if o.Renew == 0 {
		o.Renew = 10 * time.Second
	}
	if o.Silence == 0 {
		o.Silence = 30 * time.Second
	}
	if o.Lease == 0 {
		o.Lease = 60 * time.Second
	}
	if o.Need == 0 {
		o.Need = hosts/2 + 1
	}
	return o
}

// Held is a lock that is held.
type Held struct {
	need   int
	holds  []*hold
	cancel context.CancelCauseFunc

	mu       sync.Mutex
	alive    int
	released bool
}

// LostError says that a lock that was held is held no more.
type LostError struct{ Err error }

func (e *LostError) Error() string {
	return fmt.Sprintf("the cluster's lock was lost and nothing more is changed: %v: see who holds it now with clusterctl unlock, and run the command again", e.Err)
}

func (e *LostError) Unwrap() error { return e.Err }

// Take takes the lock on the hosts, in their order, or gives a *state.LockedError at once when
// another run holds it on one of them. Hosts that cannot be reached do not count. The context it
// gives is cancelled, with a *LostError as its cause, when the lock is lost.
func Take(ctx context.Context, hosts []host.Host, who state.Holder, o Options) (context.Context, *Held, error) {
	o = o.withDefaults(len(hosts))
	text, err := json.Marshal(who)
	if err != nil {
		return nil, nil, fmt.Errorf("lock: %w", err)
	}
	work, cancel := context.WithCancelCause(ctx)
	held := &Held{need: o.Need, cancel: cancel}
	var away []error
	for _, h := range hosts {
		one, err := takeOne(ctx, h, string(text), o)
		if _, unreachable := errors.AsType[*host.UnreachableError](err); unreachable && ctx.Err() == nil {
			away = append(away, err)
			continue
		}
		if err != nil {
			held.Release()
			return nil, nil, err
		}
		held.holds = append(held.holds, one)
	}
	if len(held.holds) < o.Need {
		held.Release()
		return nil, nil, fmt.Errorf("lock the cluster: %d of %d control planes answer and %d are needed: %w",
			len(held.holds), len(hosts), o.Need, errors.Join(away...))
	}
	held.alive = len(held.holds)
	for _, one := range held.holds {
		go one.watch(o, held.lost)
	}
	return work, held, nil
}

// lost is told of every host that is held no more.
func (h *Held) lost(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.alive--
	if h.alive < h.need && !h.released {
		h.cancel(&LostError{err})
	}
}

// Release gives the lock back. It may be called more than once.
func (h *Held) Release() {
	h.mu.Lock()
	h.released = true
	h.mu.Unlock()
	var all sync.WaitGroup
	for _, one := range h.holds {
		all.Go(one.release)
	}
	all.Wait()
	h.cancel(nil)
}

// Blame gives the loss of the lock as the cause of err where a run ended because of it. ctx is
// the one that Take gave.
func Blame(ctx context.Context, err error) error {
	lost, ok := errors.AsType[*LostError](context.Cause(ctx))
	if _, blamed := errors.AsType[*LostError](err); err == nil || !ok || blamed {
		return err
	}
	if errors.Is(err, context.Canceled) {
		return lost
	}
	return errors.Join(lost, err)
}
