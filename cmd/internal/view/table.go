package view

import (
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

const (
	columnGap = 2
	// narrowest is the width that a column is not shortened below.
	narrowest = 8
)

// Table writes rows in aligned columns under header. On a terminal the widest columns are
// shortened with … until a row fits.
func Table(w io.Writer, header []string, rows [][]string) error {
	o := NewOutput(w, Text)
	_, err := io.WriteString(w, o.table(header, rows))
	return err
}

// table is the text of a table. A cell is one line; cells that are missing are empty.
func (o Output) table(header []string, rows [][]string) string {
	rows = append([][]string{header}, rows...)
	widths := columnWidths(rows)
	if o.Width > 0 {
		shrink(widths, o.Width)
	}
	var b strings.Builder
	for i, row := range rows {
		line := tableLine(row, widths)
		if i == 0 {
			line = palette(o.Color).bold(line)
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

func columnWidths(rows [][]string) []int {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], ansi.StringWidth(oneLine(cell)))
		}
	}
	return widths
}

// shrink takes from the widest column until the row fits or all columns are narrow.
func shrink(widths []int, fit int) {
	total := columnGap * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	for ; total > fit; total-- {
		widest := 0
		for i, w := range widths {
			if w > widths[widest] {
				widest = i
			}
		}
		if widths[widest] <= narrowest {
			return
		}
		widths[widest]--
	}
}

func tableLine(row []string, widths []int) string {
	var b strings.Builder
	for i, cell := range row {
		cell = ansi.Truncate(oneLine(cell), widths[i], "…")
		b.WriteString(cell)
		if i < len(row)-1 {
			b.WriteString(strings.Repeat(" ", widths[i]-ansi.StringWidth(cell)+columnGap))
		}
	}
	return strings.TrimRight(b.String(), " ")
}
