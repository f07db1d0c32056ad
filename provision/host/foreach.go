package host

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"
)

// ForEach calls fn for all items, at most limit at the same moment (limit < 1: one), and waits
// for all of them. An error does not stop the others: all errors are joined in the items'
// order. Once ctx is over no further call begins and its error is joined once.
func ForEach[T any](ctx context.Context, limit int, items []T, fn func(context.Context, T) error) error {
	var g errgroup.Group
	g.SetLimit(max(limit, 1))
	errs := make([]error, len(items)+1)
	for i, item := range items {
		if ctx.Err() != nil {
			errs[len(items)] = ctx.Err()
			break
		}
		g.Go(func() error {
			errs[i] = fn(ctx, item)
			return nil
		})
	}
	_ = g.Wait() // the errors are in errs
	return errors.Join(errs...)
}
