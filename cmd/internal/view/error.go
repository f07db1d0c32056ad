package view

import (
	"fmt"
	"io"
	"strings"
)

// Error tells on w why a command ended, and hint, which may be empty, what to do next.
func Error(w io.Writer, err error, hint string) {
	paint := palette(wantsColor(w))
	text := paint.red("error:") + " " + strings.Join(lines(err.Error()), "\n       ") + "\n"
	if hint != "" {
		text += "       " + oneLine(hint) + "\n"
	}
	_, _ = fmt.Fprint(w, text) // nowhere left to report that stderr is gone
}
