package view

import (
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"
)

// oneLine makes text from anywhere safe to print as a part of one line: it comes from hosts and
// libraries and may hold line breaks and escape sequences.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(ansi.Strip(s), func(r rune) bool {
		return unicode.IsControl(r) || r == ' '
	}), " ")
}

// lines is oneLine for text that may have several lines: those that are empty are left out.
func lines(s string) []string {
	var out []string
	for line := range strings.Lines(s) {
		if line = oneLine(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}
