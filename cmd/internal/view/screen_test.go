package view

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/charmbracelet/x/ansi"
)

// screen is a model of a terminal that knows what the live region uses: new lines, carriage
// return, cursor up and erase below. It fails loudly (panics) on what it does not know.
type screen struct {
	mu   sync.Mutex
	dim  size
	raw  bytes.Buffer
	rows []string // what is shown; the cursor is at the start of a row
	row  int
}

func newScreen(width, height int) *screen { return &screen{dim: size{width, height}} }

func (s *screen) size() size {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dim
}

var sequence = regexp.MustCompile(`^\x1b\[(\d*)([A-Za-z])`)

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.raw.Write(p)
	for rest := string(p); rest != ""; {
		if m := sequence.FindStringSubmatch(rest); m != nil {
			s.control(m[1], m[2])
			rest = rest[len(m[0]):]
			continue
		}
		if rest[0] == '\r' {
			rest = rest[1:]
			continue
		}
		line, after, found := strings.Cut(rest, "\n")
		if !found || strings.Contains(line, "\x1b") {
			panic("screen: unexpected " + strconv.Quote(rest))
		}
		s.put(line)
		rest = after
	}
	return len(p), nil
}

func (s *screen) control(arg, letter string) {
	switch letter {
	case "A":
		n := 1
		if arg != "" {
			n, _ = strconv.Atoi(arg)
		}
		s.row = max(0, s.row-n)
	case "J":
		s.rows = s.rows[:s.row]
	default:
		panic("screen: unexpected sequence " + letter)
	}
}

// put writes a line, which wraps, and moves to the next.
func (s *screen) put(line string) {
	for _, row := range wrapRows(line, s.dim.width) {
		s.rows = append(s.rows[:s.row], row)
		s.row++
	}
}

func wrapRows(line string, width int) []string {
	return strings.Split(ansi.Hardwrap(line, width, true), "\n")
}

// reflow makes the terminal narrower: its lines wrap and the cursor moves with them.
func (s *screen) reflow(width int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var rows []string
	for _, row := range s.rows {
		rows = append(rows, wrapRows(row, width)...)
	}
	s.rows, s.row, s.dim.width = rows, len(rows), width
}

func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for _, row := range s.rows {
		b.WriteString(row + "\n")
	}
	return b.String()
}
