package view

import (
	"fmt"
	"slices"
	"strings"
)

// Format is how results are written. It is a flag value (pflag.Value) that refuses anything
// but text and json; see FormatFlag for commands that know more.
type Format string

const (
	Text     Format = "text"     // for people
	JSON     Format = "json"     // for programs
	Markdown Format = "markdown" // for comments on pull requests
)

// String is the flag's value.
func (f *Format) String() string { return string(*f) }

// Set takes the flag's value.
func (f *Format) Set(s string) error { return f.set(s, Text, JSON) }

func (f *Format) set(s string, known ...Format) error {
	if slices.Contains(known, Format(s)) {
		*f = Format(s)
		return nil
	}
	if len(known) == 2 {
		return fmt.Errorf("%q is neither %s nor %s", s, known[0], known[1])
	}
	return fmt.Errorf("%q is none of %s", s, strings.Join(names(known), ", "))
}

// Type is what the help text calls the value.
func (*Format) Type() string { return "format" }

// FormatFlag is a Format that takes all of the Known.
type FormatFlag struct {
	*Format
	Known []Format
}

// Set takes the flag's value.
func (f FormatFlag) Set(s string) error { return f.Format.set(s, f.Known...) }

// Names are the values that the flag takes.
func (f FormatFlag) Names() []string { return names(f.Known) }

func names(known []Format) []string {
	out := make([]string, len(known))
	for i, f := range known {
		out[i] = string(f)
	}
	return out
}
