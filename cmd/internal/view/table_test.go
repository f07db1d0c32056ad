package view

import (
	"bytes"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

func TestTableAlignsWideCharacters(t *testing.T) {
	var b bytes.Buffer
	err := Table(&b, []string{"NAME", "NOTE"}, [][]string{{"日本", "a"}, {"x", "b\nc\x1b[31m"}, {"short"}})
	if err != nil {
		t.Fatal(err)
	}
	want := "NAME   NOTE\n日本   a\nx      b c\nshort\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestTableFitsTheTerminal(t *testing.T) {
	long := strings.Repeat("w", 100)
	for _, width := range []int{40, 80, 120} {
		text := Output{Width: width}.table([]string{"A", "B", "C"}, [][]string{{"a", long, long}, {long, "b", "c"}})
		for line := range strings.Lines(text) {
			if got := ansi.StringWidth(strings.TrimSuffix(line, "\n")); got > width {
				t.Errorf("width %d: a line takes %d: %s", width, got, line)
			}
		}
		if !strings.Contains(text, "…") {
			t.Errorf("width %d: nothing was shortened:\n%s", width, text)
		}
	}
}
