package view

import (
	"testing"
	"time"
)

func TestHumanDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 0: "0.0s", 400 * time.Millisecond: "0.4s", 9960 * time.Millisecond: "10s",
		42 * time.Second: "42s", 59700 * time.Millisecond: "1m00s", 185 * time.Second: "3m05s", 62 * time.Minute: "1h02m",
	} {
		if got := humanDuration(d); got != want {
			t.Errorf("humanDuration(%v) = %s, want %s", d, got, want)
		}
	}
}

func TestHumanDate(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	const day = 24 * time.Hour
	for d, want := range map[time.Duration]string{
		364 * day: "in 364 d", 47 * time.Hour: "in 47 h", 90 * time.Minute: "in 90 min", -3 * day: "3 d ago", 0: "in 0 min",
	} {
		if got := humanDate(now.Add(d), now); got != want {
			t.Errorf("humanDate(now + %v) = %s, want %s", d, got, want)
		}
	}
	if got := humanDate(time.Time{}, now); got != "-" {
		t.Errorf("humanDate of no time = %s, want -", got)
	}
}

func TestHumanSize(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 1023: "1023 B", 1024: "1 KiB", 1536: "1.5 KiB", 1<<20 - 1: "1 MiB", 8 << 30: "8 GiB", 100<<20 + 1<<19: "100 MiB",
	} {
		if got := humanSize(n); got != want {
			t.Errorf("humanSize(%d) = %s, want %s", n, got, want)
		}
	}
}
