package host_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"clusterctl/provision/host"
	"clusterctl/provision/host/hosttest"
	"clusterctl/provision/inventory"
)

func TestForEachDoesNotStopTheOthers(t *testing.T) {
	bad := errors.New("bad")
	var calls atomic.Int32
	err := host.ForEach(t.Context(), 2, []int{0, 1, 2, 3, 4}, func(_ context.Context, i int) error {
		calls.Add(1)
		if i%2 == 1 {
			return fmt.Errorf("host %d: %w", i, bad)
		}
		return nil
	})
	if calls.Load() != 5 || !errors.Is(err, bad) || err.Error() != "host 1: bad\nhost 3: bad" {
		t.Errorf("%d calls, error %q", calls.Load(), err)
	}
}

func TestForEachKeepsTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		err := host.ForEach(t.Context(), 3, make([]int, 9), func(context.Context, int) error {
			<-time.After(time.Second)
			return nil
		})
		if took := time.Since(start); err != nil || took != 3*time.Second {
			t.Errorf("took %v, error %v; want 3s", took, err)
		}
	})
}

func TestForEachBeginsNothingAfterTheEndOfItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	err := host.ForEach(ctx, 0, []string{"a", "b", "c"}, func(context.Context, string) error {
		calls++
		cancel()
		return nil
	})
	if calls > 2 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d calls, error %v", calls, err)
	}
}

func TestPoolOpensOnceAndClosesAll(t *testing.T) {
	inv := inventory.Inventory{Hosts: []inventory.Host{{Name: "a"}, {Name: "b"}}}
	opened := 0
	p := host.NewPool(inv, func(h inventory.Host) host.Host {
		opened++
		return hosttest.NewFake(h.Name)
	})
	for _, name := range []string{"a", "b", "a"} {
		h, err := p.Get(name)
		if err != nil || h.Name() != name {
			t.Errorf("Get(%s): %v, %v", name, h, err)
		}
	}
	if _, err := p.Get("c"); err == nil {
		t.Error("Get of an unknown host succeeded")
	}
	if err := p.Close(); err != nil || opened != 2 {
		t.Errorf("%d hosts opened, error %v", opened, err)
	}
}
