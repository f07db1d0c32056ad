package health_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"clusterctl/phases/health"
	"clusterctl/provision/event"
)

// heard collects events.
type heard struct {
	mu     sync.Mutex
	events []event.Event
}

func (h *heard) Emit(e event.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, e)
}

// after gives a condition that holds once so much time is over.
func after(name string, d, timeout time.Duration) health.Condition {
	began := time.Now()
	return health.Condition{Name: name, Host: "cp-1", Timeout: timeout, Check: func(context.Context) error {
		if left := d - time.Since(began); left > 0 {
			return errors.New("not yet")
		}
		return nil
	}}
}

func TestWaitEndsWhenTheConditionHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := health.Wait(t.Context(), []health.Condition{after("ready", 3*time.Second, time.Minute)}, "etcd", event.Discard); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < 3*time.Second || took > 3200*time.Millisecond {
			t.Errorf("took %v, want little more than 3s", took)
		}
	})
}

func TestWaitOfNothingEndsAtOnce(t *testing.T) {
	if err := health.Wait(t.Context(), nil, "etcd", event.Discard); err != nil {
		t.Error(err)
	}
}

func TestConditionsAreWaitedForTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var all []health.Condition
		for i := range 10 {
			all = append(all, after(fmt.Sprint("ready ", i), 5*time.Second, time.Minute))
		}
		if err := health.Wait(t.Context(), all, "etcd", event.Discard); err != nil || time.Since(began) > 6*time.Second {
			t.Errorf("error %v after %v, want all within about 5s", err, time.Since(began))
		}
	})
}

func TestTimeoutGivesTheLastReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		last := errors.New("third reason")
		c := health.Condition{Name: "kube-apiserver ready", Host: "cp-1", Timeout: 10 * time.Second, Check: func(context.Context) error {
			switch d := time.Since(began); {
			case d < 3*time.Second:
				return errors.New("first reason")
			case d < 6*time.Second:
				return errors.New("second reason")
			}
			return last
		}}
		err := health.Wait(t.Context(), []health.Condition{c}, "apiserver", event.Discard)
		var late *health.Error
		if !errors.As(err, &late) || !errors.Is(err, last) || late.Waited < 10*time.Second || late.Waited > 11*time.Second {
			t.Fatalf("error %v", err)
		}
		if want := "cp-1: kube-apiserver ready: not within 10s: third reason"; err.Error() != want {
			t.Errorf("error %q, want %q", err, want)
		}
	})
}

func TestEveryConditionThatFailsIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		never := func(name string) health.Condition { return after(name, time.Hour, 2*time.Second) }
		err := health.Wait(t.Context(), []health.Condition{never("one"), after("good", 0, time.Second), never("two")}, "verify", event.Discard)
		if err == nil || !strings.Contains(err.Error(), "one") || !strings.Contains(err.Error(), "two") || strings.Contains(err.Error(), "good") {
			t.Errorf("error %v", err)
		}
	})
}

func TestACheckThatHangsIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		c := health.Condition{Name: "answers", Timeout: 2 * time.Minute, Check: func(ctx context.Context) error {
			if asked++; asked > 1 {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		}}
		if err := health.Wait(t.Context(), []health.Condition{c}, "etcd", event.Discard); err != nil || asked != 2 {
			t.Errorf("error %v after %d questions, want good at the second", err, asked)
		}
	})
}

func TestACheckThatHangsForEverEndsWithItsTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		c := health.Condition{Name: "answers", Timeout: 5 * time.Second, Check: func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}}
		err := health.Wait(t.Context(), []health.Condition{c}, "etcd", event.Discard)
		if took := time.Since(began); err == nil || took > 10*time.Second {
			t.Errorf("error %v after %v, want one soon after 5s", err, took)
		}
	})
}

func TestCancelEndsTheWaitWithItsCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		stop := errors.New("interrupted")
		time.AfterFunc(2*time.Second, func() { cancel(stop) })
		began := time.Now()
		err := health.Wait(ctx, []health.Condition{after("ready", time.Hour, time.Hour)}, "etcd", event.Discard)
		if !errors.Is(err, stop) || time.Since(began) != 2*time.Second {
			t.Errorf("error %v after %v, want the cause after 2s", err, time.Since(began))
		}
	})
}

// TestReasonsAreReportedOnceAndAgainWhenTheyStay: a new reason at once, the same every ten seconds.
func TestReasonsAreReportedOnceAndAgainWhenTheyStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var to heard
		if err := health.Wait(t.Context(), []health.Condition{after("ready", 25*time.Second, time.Minute)}, "etcd", &to); err != nil {
			t.Fatal(err)
		}
		if len(to.events) != 3 {
			t.Errorf("%d reports in 25s, want 3", len(to.events))
		}
		for _, e := range to.events {
			if e.Kind != event.Wait || e.Phase != "etcd" || e.Host != "cp-1" || e.Text != "ready" || e.Err == nil {
				t.Errorf("report %+v", e)
			}
		}
	})
}

// TestASteadyConditionMustHoldWithoutABreak is for servers that answer once and fall over.
func TestASteadyConditionMustHoldWithoutABreak(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		c := health.Condition{Name: "ready", Timeout: time.Minute, Steady: 2 * time.Second, Check: func(context.Context) error {
			if at := time.Since(began); at > time.Second && at < 1500*time.Millisecond {
				return errors.New("fell over")
			}
			return nil
		}}
		if err := health.Wait(t.Context(), []health.Condition{c}, "x", event.Discard); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < 3500*time.Millisecond || took > 3700*time.Millisecond {
			t.Errorf("took %v, want 2s from the last fall", took)
		}
	})
}

// TestAHopelessConditionIsNotWaitedFor: the reason and what did not hold are both told, long before
// the time is over; as long as there is hope it is waited for.
func TestAHopelessConditionIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		crash := errors.New("kubelet ends and was started again 2 times")
		c := after("kubelet healthy", time.Hour, 2*time.Minute)
		asked := 0
		c.Hopeless = func(context.Context) error {
			if asked++; asked < 3 {
				return nil
			}
			return crash
		}
		err := health.Wait(t.Context(), []health.Condition{c}, "nodes", event.Discard)
		if took := time.Since(began); !errors.Is(err, crash) || !strings.HasSuffix(err.Error(), "2 times: not yet") || took < 9*time.Second || took > 10*time.Second {
			t.Errorf("error %v after %v", err, took)
		}
	})
}
