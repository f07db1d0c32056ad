package phases_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"clusterctl/components/resource"
	"clusterctl/phases"
	"clusterctl/phases/health"
	"clusterctl/provision/host"
	"clusterctl/provision/inventory"
)

// operations records what the scripts of a host do; refuse says which operation goes wrong.
func (s *stage) operations(name string, refuse func(op string) error) *[]string {
	var log []string
	s.fakes[name].Handle(func(ctx context.Context, c host.Cmd) (host.Result, error) {
		in, err := io.ReadAll(c.Stdin)
		if err != nil {
			return host.Result{}, err
		}
		for line := range strings.Lines(string(in)) {
			op := strings.TrimSpace(line)
			log = append(log, op)
			if err := refuse(op); err != nil {
				return host.Result{}, err
			}
		}
		c.Stdin = strings.NewReader(string(in))
		return operate(ctx, c)
	}, "sh")
	return &log
}

// TestAUnitThatDoesNotStartIsPutBack: the host goes back to what it ran, as a whole, and is waited
// for; the next host is not touched and the run ends with the cause.
func TestAUnitThatDoesNotStartIsPutBack(t *testing.T) {
	s := newStage(t)
	tries := 0
	ops := s.operations("cp-1", func(op string) error {
		if strings.HasPrefix(op, "restart\tx.service") {
			if tries++; tries == 1 {
				return &host.ExitError{Host: "cp-1", Code: 1, Stderr: "last lines: unknown flag"}
			}
		}
		return nil
	})
	err := s.run(t.Context(), planOf(t, s.env.Cluster, []phases.Phase{phase("x", s.gate(""), planes...)}, running("x", planes...)))
	if err == nil || !strings.Contains(err.Error(), "unknown flag") || !strings.Contains(err.Error(), "cp-1 was put back to what it ran before and is healthy again") {
		t.Errorf("error %v", err)
	}
	var verbs []string
	for _, op := range *ops {
		verbs = append(verbs, strings.Split(op, "\t")[0])
	}
	if want := []string{"former", "keep", "reload", "restart", "restore", "reload", "restart"}; !slices.Equal(verbs, want) {
		t.Errorf("operations %q, want %q", *ops, want)
	}
	if last := (*ops)[len(*ops)-1]; last != "restart\tx.service\told" {
		t.Errorf("the last operation is %q: want the stamp of the last good start", last)
	}
	if !slices.Contains(s.log, "gate cp-1") {
		t.Error("the host that was put back was not waited for")
	}
	if paths := s.fakes["cp-2"].Paths(); len(paths) != 0 {
		t.Errorf("the next host got %v", paths)
	}
}

// TestAUnitThatStartsAndIsNotHealthyIsPutBack: its gate finds it out.
func TestAUnitThatStartsAndIsNotHealthyIsPutBack(t *testing.T) {
	s := newStage(t)
	restarts := 0
	s.operations("worker-1", func(op string) error {
		if strings.HasPrefix(op, "restart\t") {
			restarts++
		}
		return nil
	})
	gates := func(_ *phases.Env, h inventory.Host) []health.Condition {
		return []health.Condition{{Name: "ready", Host: h.Name, Timeout: time.Second, Check: func(context.Context) error {
			if h.Name == "worker-1" && restarts < 2 {
				return errors.New("crash loop")
			}
			return nil
		}}}
	}
	synctest.Test(t, func(t *testing.T) {
		err := s.run(t.Context(), planOf(t, s.env.Cluster, []phases.Phase{phase("x", gates, every...)}, running("x", workers...)))
		if err == nil || !strings.Contains(err.Error(), "crash loop") || !strings.Contains(err.Error(), "worker-1 was put back") || strings.Contains(err.Error(), "worker-2") {
			t.Errorf("error %v", err)
		}
	})
	if restarts != 2 {
		t.Errorf("%d restarts, want the new and the old", restarts)
	}
}

// TestALostLinkPutsNothingBack: it says nothing about the unit, and the next run looks again.
func TestALostLinkPutsNothingBack(t *testing.T) {
	s := newStage(t)
	ops := s.operations("cp-1", func(op string) error {
		if strings.HasPrefix(op, "restart\t") {
			return &host.UnreachableError{Host: "cp-1", Err: errors.New("connection lost")}
		}
		return nil
	})
	err := s.run(t.Context(), planOf(t, s.env.Cluster, []phases.Phase{phase("x", s.gate(""), planes...)}, running("x", planes...)))
	if err == nil || strings.Contains(err.Error(), "put back") || slices.ContainsFunc(*ops, func(op string) bool { return strings.HasPrefix(op, "restore") }) {
		t.Errorf("error %v, operations %q", err, *ops)
	}
}

// TestAFirstStartIsNotPutBack: there is nothing to go back to.
func TestAFirstStartIsNotPutBack(t *testing.T) {
	s := newStage(t)
	ops := s.operations("cp-1", func(op string) error {
		if strings.HasPrefix(op, "start\t") {
			return &host.ExitError{Host: "cp-1", Code: 1}
		}
		return nil
	})
	err := s.run(t.Context(), planOf(t, s.env.Cluster, []phases.Phase{phase("x", s.gate(""), "cp-1")}, resource.Facts{}))
	if err == nil || strings.Contains(err.Error(), "put back") || slices.ContainsFunc(*ops, func(op string) bool { return strings.HasPrefix(op, "former") }) {
		t.Errorf("error %v, operations %q", err, *ops)
	}
}
