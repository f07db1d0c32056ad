// Package health is what must hold before the next phase: conditions that are asked again until
// they hold or their time is over, and that keep the last reason why they did not.
package health

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"clusterctl/provision/event"
)

// Condition is one thing that must hold.
type Condition struct {
	Name    string // for people: "kube-apiserver ready"
	Host    string // empty for the cluster as a whole
	Check   func(ctx context.Context) error
	Timeout time.Duration
	Every   time.Duration // between two questions; zero: 100 ms
	Steady  time.Duration // how long it must hold without a break; zero: once is enough
	// Hopeless tells why it is of no use to wait on, when the condition has not held for a while. May be nil.
	Hopeless func(ctx context.Context) error
	// Explain says more when the time is over, such as a unit's last log lines. May be nil.
	Explain func(ctx context.Context) string
}

const (
	every = 100 * time.Millisecond // between two questions
	limit = 30 * time.Second       // of one question
	again = 10 * time.Second       // between two reports of the same reason
	doubt = 3 * time.Second        // between two questions whether waiting is of use
)

// Error says that a condition did not hold in time.
type Error struct {
	Condition Condition
	Waited    time.Duration
	Err       error
}

func (e *Error) Error() string {
	where := ""
	if e.Condition.Host != "" {
		where = e.Condition.Host + ": "
	}
	return fmt.Sprintf("%s%s: not within %s: %v", where, e.Condition.Name, e.Waited.Round(time.Second), e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// Wait waits for all conditions at the same time and joins what went wrong.
func Wait(ctx context.Context, conditions []Condition, phase string, to event.Sink) error {
	errs := make([]error, len(conditions))
	var g errgroup.Group
	g.SetLimit(64)
	for i, c := range conditions {
		g.Go(func() error {
			errs[i] = wait(ctx, c, phase, to)
			return nil
		})
	}
	_ = g.Wait() // every error is in errs
	return errors.Join(errs...)
}

func wait(ctx context.Context, c Condition, phase string, to event.Sink) error {
	began := time.Now()
	deadline := began.Add(c.Timeout)
	ticker := time.NewTicker(cmp.Or(c.Every, every))
	defer ticker.Stop()
	last, told, good, doubted := "", time.Time{}, time.Time{}, began
	for {
		err := check(ctx, c.Check, deadline)
		if err == nil && good.IsZero() {
			good = time.Now()
		}
		if err == nil && time.Since(good) >= c.Steady {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			good = time.Time{}
			if over := c.over(ctx, err, &doubted, deadline); over != nil {
				return &Error{Condition: c, Waited: time.Since(began), Err: explained(ctx, c, over)}
			}
			if text := err.Error(); text != last || time.Since(told) > again {
				last, told = text, time.Now()
				to.Emit(event.Event{Time: time.Now(), Kind: event.Wait, Phase: phase, Host: c.Host, Text: c.Name, Err: err})
			}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
	}
}

// over gives the reason to wait no longer for what did not hold because of err; nil to go on.
func (c Condition) over(ctx context.Context, err error, doubted *time.Time, deadline time.Time) error {
	if time.Now().After(deadline) {
		return err
	}
	if c.Hopeless == nil || time.Since(*doubted) < doubt {
		return nil
	}
	*doubted = time.Now()
	if hopeless := check(ctx, c.Hopeless, deadline); hopeless != nil {
		return fmt.Errorf("%w: %w", hopeless, err)
	}
	return nil
}

func explained(ctx context.Context, c Condition, err error) error {
	if c.Explain == nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if text := c.Explain(ctx); text != "" {
		return fmt.Errorf("%w\n%s", err, text)
	}
	return err
}

func check(ctx context.Context, ask func(context.Context) error, deadline time.Time) error {
	end := time.Now().Add(limit)
	if deadline.Before(end) {
		end = deadline.Add(time.Second)
	}
	ctx, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	return ask(ctx)
}
