package preflight

import (
	"slices"
	"strings"
)

// Exit codes of the command contract.
const (
	exitFailed      = 1
	exitUnreachable = 4
)

// Error says that hosts are not fit. Nothing was changed.
type Error struct{ Findings []Finding }

// Error has one line for each finding that stops the run.
func (e *Error) Error() string {
	var lines []string
	for _, f := range e.Findings {
		if f.Severity == SeverityError {
			lines = append(lines, f.String())
		}
	}
	return strings.Join(lines, "\n")
}

// ExitCode is the process's exit code: 4 when hosts could not be reached or refused, and nothing
// else is wrong.
func (e *Error) ExitCode() int {
	access := []string{nameReachable, namePrivilege}
	for _, f := range e.Findings {
		if f.Severity == SeverityError && !slices.Contains(access, f.Check) {
			return exitFailed
		}
	}
	return exitUnreachable
}

// String is the finding as one line.
func (f Finding) String() string {
	line := f.Check + ": " + f.Message
	if f.Host != "" {
		line = f.Host + ": " + line
	}
	if f.Remedy != "" {
		line += "; " + f.Remedy
	}
	return strings.Join(strings.Fields(line), " ")
}

// Verdict is an *Error when any finding is of severity error, otherwise nil.
func Verdict(findings []Finding) error {
	if slices.ContainsFunc(findings, func(f Finding) bool { return f.Severity == SeverityError }) {
		return &Error{Findings: findings}
	}
	return nil
}
