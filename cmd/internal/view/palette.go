package view

import "github.com/charmbracelet/x/ansi"

// palette paints text, or leaves it as it is when false.
type palette bool

func (p palette) bold(s string) string   { return p.paint(ansi.Style{}.Bold(), s) }
func (p palette) faint(s string) string  { return p.paint(ansi.Style{}.Faint(), s) }
func (p palette) red(s string) string    { return p.color(ansi.Red, s) }
func (p palette) green(s string) string  { return p.color(ansi.Green, s) }
func (p palette) yellow(s string) string { return p.color(ansi.Yellow, s) }

func (p palette) color(c ansi.BasicColor, s string) string {
	return p.paint(ansi.Style{}.ForegroundColor(c), s)
}

func (p palette) paint(style ansi.Style, s string) string {
	if !p || s == "" {
		return s
	}
	return style.Styled(s)
}
