package observe

import (
	"fmt"
	"testing"
	"time"
)

func TestOffsetIsCorrectedForTheRoundTrip(t *testing.T) {
	before := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	for _, c := range []struct {
		name                   string
		there, script, back    time.Duration // on the way there, in the script, on the way back
		ahead, most, uncertain time.Duration
	}{
		{"same clock, even way", 100 * time.Millisecond, 200 * time.Millisecond, 100 * time.Millisecond, 0, 0, 100 * time.Millisecond},
		{"same clock, slow login", 3 * time.Second, 200 * time.Millisecond, 0, 0, 1500 * time.Millisecond, 1500 * time.Millisecond},
		{"ten minutes behind", 50 * time.Millisecond, time.Second, 50 * time.Millisecond, -10 * time.Minute, 0, 50 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			first := before.Add(c.there + c.ahead)
			last := first.Add(c.script)
			out := fmt.Sprintf("@\tclock\n%.6f\n@\tclock\n%.6f\n", float64(first.UnixMicro())/1e6, float64(last.UnixMicro())/1e6)
			rep := parse(out).report("h", before, before.Add(c.there+c.script+c.back))
			if d := (rep.Offset - c.ahead).Abs(); d > c.most+time.Millisecond {
				t.Errorf("offset = %v, the clock is %v ahead", rep.Offset, c.ahead)
			}
			if d := (rep.OffsetError - c.uncertain).Abs(); d > time.Millisecond {
				t.Errorf("uncertainty = %v, want %v", rep.OffsetError, c.uncertain)
			}
		})
	}
}

func TestClockOfADateProgramWithoutNanoseconds(t *testing.T) {
	if r := parse("@\tclock\n1796158296.%N\n"); len(r.clock) != 1 || r.clock[0] != 1796158296 {
		t.Errorf("clock = %v", r.clock)
	}
}
