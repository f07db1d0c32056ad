package preflight

import (
	"errors"
	"strings"
	"testing"
)

func TestVerdict(t *testing.T) {
	unreachable := Finding{Host: "w1", Check: "reachable", Severity: SeverityError, Message: "no route", Remedy: "look"}
	noRoot := Finding{Host: "w2", Check: "privilege", Severity: SeverityError, Message: "no root"}
	full := Finding{Host: "w3", Check: "disk", Severity: SeverityError, Message: "full"}
	warned := Finding{Host: "w4", Check: "cpus", Severity: SeverityWarning, Message: "slow"}
	for _, c := range []struct {
		name     string
		findings []Finding
		code     int
		text     string
	}{
		{"only hosts that refuse", []Finding{unreachable, noRoot, warned}, 4, "w1: reachable: no route; look\nw2: privilege: no root"},
		{"also another error", []Finding{unreachable, full}, 1, "w1: reachable: no route; look\nw3: disk: full"},
		{"lines stay lines", []Finding{{Check: "disk", Severity: SeverityError, Message: "a\nb"}}, 1, "disk: a b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			failed, ok := errors.AsType[*Error](Verdict(c.findings))
			if !ok {
				t.Fatal("the verdict is no *Error")
			}
			if failed.ExitCode() != c.code || failed.Error() != c.text {
				t.Errorf("code %d, text %q; want %d, %q", failed.ExitCode(), failed.Error(), c.code, c.text)
			}
		})
	}
	if err := Verdict([]Finding{warned}); err != nil {
		t.Errorf("verdict of warnings = %v", err)
	}
	if strings.Contains((&Error{Findings: []Finding{warned}}).Error(), "slow") {
		t.Error("a warning is in the error's text")
	}
}
