package view

import (
	"encoding/json"
	"io"
)

// Output writes results, as a rule to standard output.
type Output struct {
	W      io.Writer
	Format Format
	Width  int  // of the terminal in cells; 0 means do not cut or wrap
	Color  bool // paint text
}

// NewOutput fits the output to what w is: on a terminal its width is known and colour is used.
func NewOutput(w io.Writer, format Format) Output {
	o := Output{W: w, Format: format, Color: wantsColor(w)}
	if IsTerminal(w) {
		o.Width = sizeOf(w).width
	}
	return o
}

// write writes v as JSON or text, as the format says.
func (o Output) write(v any, text func() string) error {
	if o.Format != JSON {
		_, err := io.WriteString(o.W, text())
		return err
	}
	return o.JSON(v)
}

// JSON writes v as indented JSON whatever the format is. Results that have a method of their
// own (Plan, Status, ...) need not be written with it.
func (o Output) JSON(v any) error {
	enc := json.NewEncoder(o.W)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// orEmpty makes a list that JSON writes as [] and not as null.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
