package view

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Finding is one result of a check on a host.
type Finding struct {
	Host     string `json:"host"` // empty for the cluster as a whole
	Check    string `json:"check"`
	Severity string `json:"severity"` // error or warning
	Message  string `json:"message"`
	Remedy   string `json:"remedy,omitempty"` // what to do, for people
}

// Findings writes what checks found. As text, findings that are the same on several hosts are
// shown once; JSON is {"schema":"v1","findings":[...]}, never folded.
func (o Output) Findings(findings []Finding) error {
	answer := struct {
		Schema   string    `json:"schema"`
		Findings []Finding `json:"findings"`
	}{schema, orEmpty(findings)}
	return o.write(answer, func() string { return o.findingsText(findings) })
}

func (o Output) findingsText(findings []Finding) string {
	if len(findings) == 0 {
		return "No findings.\n"
	}
	same := func(a, b Finding) bool {
		a.Host, b.Host = "", ""
		return a == b
	}
	paint := palette(o.Color)
	var b strings.Builder
	for _, group := range fold(findings, same) {
		f := group[0]
		var hosts []string
		for _, g := range group {
			hosts = append(hosts, g.Host)
		}
		severity := paint.yellow(oneLine(f.Severity))
		if f.Severity == "error" {
			severity = paint.red(f.Severity)
		}
		fmt.Fprintf(&b, "%s %s on %s\n", severity, paint.bold(oneLine(f.Check)), hostNames(hosts))
		b.WriteString(o.paragraph("  ", f.Message))
		if f.Remedy != "" {
			b.WriteString(o.paragraph("  -> ", f.Remedy))
		}
	}
	return b.String()
}

// paragraph is text behind first, wrapped to the width when that is known; the lines after the
// first are indented as much.
func (o Output) paragraph(first, text string) string {
	indent := strings.Repeat(" ", len(first))
	wrapped := lines(text)
	if o.Width > len(first)+narrowest {
		wrapped = lines(ansi.Wrap(strings.Join(wrapped, "\n"), o.Width-len(first), " "))
	}
	return first + strings.Join(wrapped, "\n"+indent) + "\n"
}
