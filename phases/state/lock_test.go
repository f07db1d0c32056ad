package state

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

const holdEnv = "CLUSTERCTL_TEST_HOLD_LOCK"

// TestMain is also the process that holds a lock until it is killed.
func TestMain(m *testing.M) {
	if spec := os.Getenv(holdEnv); spec != "" {
		who := Holder{User: "jane", Machine: "laptop", PID: os.Getpid(), Since: noon, Command: "up dev.yaml"}
		if _, err := Open(spec, "dev").LockLocal(context.Background(), who); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("locked")
		select {}
	}
	os.Exit(m.Run())
}

func TestLockNamesItsHolderAndDiesWithIt(t *testing.T) {
	spec := t.TempDir() + "/dev.yaml"
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), holdEnv+"="+spec)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "locked\n" {
		t.Fatalf("holder says %q %v", line, err)
	}

	d := Open(spec, "dev")
	_, err = d.LockLocal(t.Context(), Holder{PID: os.Getpid()})
	var locked *LockedError
	if !errors.As(err, &locked) || locked.Holder.PID != cmd.Process.Pid || locked.ExitCode() != 5 {
		t.Fatalf("second run: %v", err)
	}
	if want := `jane@laptop (process`; !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `running "up dev.yaml"`) {
		t.Errorf("%v does not name the holder", err)
	}

	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	unlock, err := d.LockLocal(t.Context(), Holder{PID: os.Getpid()})
	if err != nil {
		t.Fatalf("after the holder was killed: %v", err)
	}
	unlock()
	unlock()
}

func TestOnlyOneOfManyGetsTheLock(t *testing.T) {
	d := openTemp(t)
	var got atomic.Int32
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			_, err := d.LockLocal(t.Context(), Holder{PID: 1})
			var locked *LockedError
			switch {
			case err == nil:
				got.Add(1)
			case !errors.As(err, &locked):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got.Load() != 1 {
		t.Errorf("%d hold the lock", got.Load())
	}
}

func TestLockAfterRemoveIsANewLock(t *testing.T) {
	d := openTemp(t)
	unlock, err := d.LockLocal(t.Context(), Holder{PID: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Remove(); err != nil {
		t.Fatal(err)
	}
	again, err := d.LockLocal(t.Context(), Holder{PID: 2})
	if err != nil {
		t.Fatalf("lock of the new directory: %v", err)
	}
	unlock()
	_, err = d.LockLocal(t.Context(), Holder{PID: 3})
	var locked *LockedError
	if !errors.As(err, &locked) || locked.Holder.PID != 2 {
		t.Errorf("third: %v", err)
	}
	again()
}

func TestLockGivesUpWhenCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := openTemp(t).LockLocal(ctx, Holder{PID: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestLockErrorBeforeTheHolderHasWritten(t *testing.T) {
	err := &LockedError{Path: "/x/lock"}
	if want := "/x/lock is locked by a run that has only just begun"; !strings.Contains(err.Error(), want) {
		t.Errorf("%v", err)
	}
}
