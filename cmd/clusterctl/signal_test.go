package main

import (
	"bytes"
	"context"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
)

func TestFirstSignalCancelsSecondExits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		signals := make(chan os.Signal, 2)
		exited := -1
		var errOut bytes.Buffer
		ctx := cancelOnSignal(t.Context(), signals, &errOut, func(code int) { exited = code })

		synctest.Wait()
		if ctx.Err() != nil {
			t.Fatal("cancelled before any signal")
		}

		signals <- os.Interrupt
		synctest.Wait()
		if ctx.Err() != context.Canceled {
			t.Errorf("after the first signal ctx.Err() = %v, want Canceled", ctx.Err())
		}
		if errOut.String() != interruptedText {
			t.Errorf("stderr = %q, want %q", errOut.String(), interruptedText)
		}
		if exited != -1 {
			t.Errorf("exited %d after one signal", exited)
		}

		signals <- syscall.SIGTERM
		synctest.Wait()
		if exited != 130 {
			t.Errorf("exit code after the second signal = %d, want 130", exited)
		}
	})
}
