package preflight

import (
	"fmt"
	"slices"
	"time"

	"clusterctl/pki"
)

const (
	// maxSpread is how far two hosts' clocks may be apart: tokens, leases and certificates that
	// one issues must be valid for the other.
	maxSpread = 30 * time.Second
	// maxOffset is how far a host's clock may be from ours: certificates begin an hour ago, and
	// what is between is a margin.
	maxOffset = pki.Backdate - 10*time.Minute
	// noticeable is an offset that a working time service does not leave.
	noticeable = 2 * time.Second
	// firstYear: a clock before it was never set.
	firstYear = 2020
)

const clockRemedy = "set the clock and let a time service keep it: timedatectl set-ntp true"

// clock compares each host with the operator's machine and with the other hosts. What the round
// trip leaves uncertain counts for the host.
func clock(in Input) []Finding {
	hosts := slices.Collect(in.machines())
	if len(hosts) == 0 {
		return nil
	}
	reference, apart := referenceOffset(hosts), apart(hosts)
	var out []Finding
	for _, m := range hosts {
		for _, f := range clockOf(m, reference, apart) {
			f.Host = m.host.Name
			out = append(out, f)
		}
	}
	if len(out) == 0 && beyond(reference, hosts[0].report.OffsetError, noticeable) {
		return warning("set this machine's clock; certificates are dated back by "+pki.Backdate.String()+", so the hosts accept them",
			"all hosts' clocks are %s this machine's", offset(reference))
	}
	return out
}

func clockOf(m machine, reference time.Duration, apart bool) []Finding {
	r := m.report
	distance := r.Offset - reference
	switch {
	case r.Clock.Year() < firstYear:
		return failure(clockRemedy, "the clock says %s: it was never set, and no certificate would be valid", r.Clock.UTC().Format(time.DateTime))
	case beyond(r.Offset, r.OffsetError, maxOffset):
		return failure(clockRemedy, "the clock is %s this machine's: certificates that are made here would not be valid there", offset(r.Offset))
	case apart && beyond(distance, r.OffsetError, maxSpread/2):
		return failure(clockRemedy, "the clock is %s the other hosts'; %s is the most that is accepted between hosts", offset(distance), maxSpread)
	case beyond(distance, r.OffsetError, noticeable):
		return warning(clockRemedy, "the clock is %s the other hosts'", offset(distance))
	}
	return nil
}

// referenceOffset is the offset of most hosts: the middle one, of two middle ones the one that is
// nearer to our clock.
func referenceOffset(hosts []machine) time.Duration {
	var offsets []time.Duration
	for _, m := range hosts {
		offsets = append(offsets, m.report.Offset)
	}
	slices.Sort(offsets)
	low, high := offsets[(len(offsets)-1)/2], offsets[len(offsets)/2]
	if low.Abs() < high.Abs() {
		return low
	}
	return high
}

// apart tells whether any two hosts' clocks are surely further apart than is accepted.
func apart(hosts []machine) bool {
	early, late := hosts[0].report, hosts[0].report
	for _, m := range hosts {
		if r := m.report; r.Offset+r.OffsetError < early.Offset+early.OffsetError {
			early = r
		}
		if r := m.report; r.Offset-r.OffsetError > late.Offset-late.OffsetError {
			late = r
		}
	}
	return (late.Offset-late.OffsetError)-(early.Offset+early.OffsetError) > maxSpread
}

// beyond tells whether an offset is surely larger than a limit.
func beyond(offset, uncertain, limit time.Duration) bool { return offset.Abs()-uncertain > limit }

// offset says a clock's offset for people: "10m0s behind".
func offset(d time.Duration) string {
	word := "ahead of"
	if d < 0 {
		word = "behind"
	}
	unit := time.Second
	if d.Abs() < 10*time.Second {
		unit = 100 * time.Millisecond
	}
	return fmt.Sprintf("%s %s", d.Abs().Round(unit), word)
}

func timeSync(m machine) []Finding {
	if m.report.TimeSync || m.container() {
		return nil
	}
	return warning("install one (chrony) or switch on systemd's: timedatectl set-ntp true", "no time service runs: the clock will drift")
}
