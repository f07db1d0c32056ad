package view

import (
	"io"
	"strings"
	"sync"

	"github.com/charmbracelet/x/ansi"
)

// Console is a writer, standard error as a rule, that several parts of the program share:
// progress, logs, questions. Below what was written it keeps a live region, lines that are
// drawn again when they change; a Write goes above it. The region needs only three escape
// sequences, never hides the cursor and reads no input, so whatever ends the process leaves
// the terminal as it was. A Console is safe for concurrent use.
type Console struct {
	w io.Writer

	mu     sync.Mutex
	region []string // as drawn, already cut to the terminal's width
}

// NewConsole makes the console on w.
func NewConsole(w io.Writer) *Console {
	return &Console{w: w}
}

// IsTerminal says whether what is written goes to a terminal.
func (c *Console) IsTerminal() bool { return IsTerminal(c.w) }

func (c *Console) size() size { return sizeOf(c.w) }

// Write writes p, whole lines, above the live region.
func (c *Console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.region) == 0 {
		return c.w.Write(p)
	}
	if err := c.redraw(string(p), c.region); err != nil {
		return 0, err
	}
	return len(p), nil
}

// update writes text, which may be empty, above the live region and makes region its lines.
// Lines that do not fit the terminal are cut.
func (c *Console) update(text string, region []string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.redraw(text, region)
}

// redraw does all in one write, so that the region does not flicker.
func (c *Console) redraw(text string, region []string) error {
	now := c.terminalSize()
	region = fit(region, now)
	if text != "" && !strings.HasSuffix(text, "\n") && len(region) > 0 {
		text += "\n"
	}
	var out strings.Builder
	if rows := rowsOf(c.region, now.width); rows > 0 {
		out.WriteString("\r" + ansi.CursorUp(rows) + ansi.EraseScreenBelow)
	}
	out.WriteString(text)
	for _, line := range region {
		out.WriteString(line + "\n")
	}
	c.region = region
	if out.Len() == 0 {
		return nil
	}
	_, err := io.WriteString(c.w, out.String())
	return err
}

// terminalSize is the size, or a usual one when it is not known.
func (c *Console) terminalSize() size {
	s := c.size()
	if s.width <= 0 || s.height <= 0 {
		return size{80, 24}
	}
	return s
}

// fit cuts region to what can be drawn and erased again: one column is left free because a
// full line wraps on some terminals, and one row for the cursor.
func fit(region []string, s size) []string {
	if rows := max(1, s.height-1); len(region) > rows {
		region = region[:rows]
	}
	cut := make([]string, len(region))
	for i, line := range region {
		cut[i] = ansi.Truncate(line, max(1, s.width-1), "…")
	}
	return cut
}

// rowsOf counts the rows that drawn lines take now: a terminal that was made narrower since
// has wrapped them.
func rowsOf(drawn []string, width int) int {
	rows := 0
	for _, line := range drawn {
		rows += max(1, (ansi.StringWidth(line)+width-1)/width)
	}
	return rows
}
