package view

import "fmt"

// Format is how results are written. It is a flag value (pflag.Value) that refuses anything
// but its constants.
type Format string

const (
	Text Format = "text" // for people
	JSON Format = "json" // for programs
)

// String is the flag's value.
func (f *Format) String() string { return string(*f) }

// Set takes the flag's value.
func (f *Format) Set(s string) error {
	switch Format(s) {
	case Text, JSON:
		*f = Format(s)
		return nil
	}
	return fmt.Errorf("%q is neither text nor json", s)
}

// Type is what the help text calls the value.
func (*Format) Type() string { return "format" }
