package view

import (
	"fmt"
	"strings"
)

// markdownSize is how long a plan may be as Markdown, in bytes: GitHub takes comments of 65,536
// characters, and the pipeline adds some of its own.
const markdownSize = 60_000

// planMarkdown is a plan for a comment: a table of the phases, and the steps in a part that is
// folded away. What does not fit is left out, and said to be.
func (o Output) planMarkdown(p Plan) string {
	p = p.complete()
	var b strings.Builder
	s := p.Summary()
	fmt.Fprintf(&b, "### Cluster %s: %s\n\n", markdownText(p.Cluster), markdownVerdict(s))
	for _, note := range p.Notes {
		fmt.Fprintf(&b, "> **Note:** %s\n\n", markdownText(note))
	}
	if s.Total == 0 {
		return b.String()
	}
	b.WriteString(markdownTable(p))
	b.WriteString(markdownDetails(o.detailsText(p), markdownSize-b.Len()))
	return b.String()
}

func markdownVerdict(s Summary) string {
	if s.Total == 0 {
		return "no changes"
	}
	return s.text()
}

// detailsText is the plan as text without the colours and the summary.
func (o Output) detailsText(p Plan) string {
	p.Notes = nil
	text := Output{}.planText(p, false)
	text = text[:strings.LastIndex(strings.TrimRight(text, "\n"), "\n")+1]
	return strings.TrimRight(text, "\n") + "\n"
}

// markdownTable has a line for the provider and each phase.
func markdownTable(p Plan) string {
	var b strings.Builder
	b.WriteString("| Phase | Hosts | Changes |\n| --- | --- | --- |\n")
	if len(p.Provider) > 0 {
		changes := Plan{Provider: p.Provider}.Summary()
		var names []string
		for _, c := range p.Provider {
			names = append(names, c.Kind+" "+c.Name)
		}
		fmt.Fprintf(&b, "| provider | %s | %s |\n", markdownText(hostNames(names)), changes.text())
	}
	for _, phase := range p.Phases {
		changes := Plan{Phases: []PhasePlan{phase}}.Summary()
		changes.Hosts = 0 // they have a column
		var names []string
		for _, h := range phase.Hosts {
			names = append(names, h.Host)
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", markdownText(phase.Name), markdownText(hostNames(names)), changes.text())
	}
	return b.String()
}

// markdownDetails folds text away, as a block whose fence is longer than any in it.
func markdownDetails(text string, most int) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	const frame = "\n<details><summary>All steps</summary>\n\n%sdiff\n%s%s\n\n</details>\n"
	const left = "... and more: the rest does not fit a comment; see clusterctl plan\n"
	if room := most - len(frame) - 2*len(fence) - len(left); len(text) > room {
		text = text[:max(0, room)]
		text = text[:strings.LastIndex(text, "\n")+1] + left
	}
	return fmt.Sprintf(frame, fence, diffLines(text), fence)
}

// diffLines begins lines that are changes with their mark, so that they are painted.
func diffLines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		for _, mark := range []string{"+ ", "- ", "~ "} {
			if rest, ok := strings.CutPrefix(strings.TrimLeft(line, " "), mark); ok {
				line = strings.Replace(mark, "~", "!", 1) + "  " + rest
				break
			}
		}
		b.WriteString(line)
	}
	return b.String()
}

// markdownText makes text from anywhere a part of one line that is no markup.
func markdownText(s string) string {
	var b strings.Builder
	for _, r := range oneLine(s) {
		if strings.ContainsRune("\\`*_{}[]<>()#+!|~@", r) {
			b.WriteRune('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
