package spec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing that is wrong in a spec file.
type Problem struct {
	// Line and Column say where, from 1; 0 when the file has no such place.
	Line   int `json:"line"`
	Column int `json:"column"`
	// Field is the full path, such as spec.controlPlane.hosts[0].name; empty for the file as a whole.
	Field string `json:"field"`
	// Message says what is wrong.
	Message string `json:"message"`
	// Suggestion says what to write instead; may be empty.
	Suggestion string `json:"suggestion,omitempty"`
}

// String is the problem without its place: field: message; suggestion.
func (p Problem) String() string {
	var b strings.Builder
	if p.Field != "" {
		b.WriteString(p.Field + ": ")
	}
	b.WriteString(p.Message)
	if p.Suggestion != "" {
		b.WriteString("; " + p.Suggestion)
	}
	return b.String()
}

// Error is everything that is wrong in one spec file, sorted by line.
type Error struct {
	Path     string
	Problems []Problem
}

// Error has one line per problem: file:line: field: message; suggestion.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = fmt.Sprintf("%s:%d: %s", e.Path, max(p.Line, 1), p)
	}
	return strings.Join(lines, "\n")
}

// ExitCode is the process's exit code for a spec that is wrong.
func (e *Error) ExitCode() int { return 3 }

// sortProblems orders by place, then field, then text, and drops repetitions, which aliases make.
func sortProblems(problems []Problem) []Problem {
	slices.SortFunc(problems, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column),
			strings.Compare(a.Field, b.Field),
			strings.Compare(a.Message, b.Message),
			strings.Compare(a.Suggestion, b.Suggestion))
	})
	return slices.Compact(problems)
}
