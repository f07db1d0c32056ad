package view

import (
	"fmt"
	"time"
)

// humanDuration is d with the precision that a person reads: 0.4s, 42s, 3m05s, 1h02m.
func humanDuration(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < 9950*time.Millisecond:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < 59500*time.Millisecond:
		return fmt.Sprintf("%.0fs", d.Seconds())
	}
	d = d.Round(time.Second)
	if d < time.Hour {
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	}
	return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
}

// wholeSeconds is humanDuration without the tenths that would flicker in a live line.
func wholeSeconds(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%ds", max(0, d/time.Second))
	}
	return humanDuration(d.Truncate(time.Second))
}

// humanDate is t as seen from now: in 364 d, in 5 h, 2 d ago; - when t is not set.
func humanDate(t, now time.Time) string {
	if t.IsZero() {
		return "-"
	}
	d := t.Sub(now)
	span := humanSpan(d.Abs())
	if d < 0 {
		return span + " ago"
	}
	return "in " + span
}

func humanSpan(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d >= 2*day:
		return fmt.Sprintf("%d d", d/day)
	case d >= 2*time.Hour:
		return fmt.Sprintf("%d h", d/time.Hour)
	}
	return fmt.Sprintf("%d min", d/time.Minute)
}

// humanSize is bytes in the binary unit that keeps the number short: 512 B, 1.5 MiB, 8 GiB.
func humanSize(bytes int64) string {
	const units = "KMGTPE"
	if bytes < 1024 {
		return fmt.Sprintf("%d B", bytes)
	}
	value, unit := float64(bytes)/1024, 0
	for value >= 1023.95 && unit < len(units)-1 {
		value, unit = value/1024, unit+1
	}
	number := fmt.Sprintf("%.1f", value)
	if value >= 99.95 || number[len(number)-1] == '0' {
		number = fmt.Sprintf("%.0f", value)
	}
	return fmt.Sprintf("%s %ciB", number, units[unit])
}

// plural is "1 step" or "3 steps".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
