package components

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"clusterctl/components/resource"
	"clusterctl/templates"
)

// Service is a systemd service of ours (systemd.service(5)).
type Service struct {
	Name         string // without suffix
	Description  string
	Type         string // notify where the program says READY=1, else exec
	After, Wants []string
	Environment  []string // NAME=value
	// EnvironmentFile is a file of such lines, with a - before it where it may be missing; empty: none.
	EnvironmentFile string
	Before          [][]string // commands run before the start, as argument vectors
	Args            []string   // argument vector; Args[0] is an absolute path
	StartTimeout    time.Duration
	StopTimeout     time.Duration
	KillMode        string // empty: control-group
	Delegate        bool
	Limits          bool // raise limits; only where the host may
	OOMScore        int
	Detached        bool // takes long to start, and other work can go on meanwhile
}

// Resources gives the unit's file and the running unit. The unit's inputs are its own file and
// what is in reads: all that the process read at its start.
func (s Service) Resources(host string, reads ...resource.Resource) ([]resource.Resource, error) {
	text, err := s.Text()
	if err != nil {
		return nil, err
	}
	file := resource.File{Host: host, Path: UnitDir + "/" + s.Name + ".service", Mode: 0o644, Content: text}
	unit := resource.Unit{Host: host, Name: s.Name + ".service", Inputs: []string{file.Digest()}, Detached: s.Detached}
	unit.Reads = []string{file.Path}
	for _, r := range reads {
		unit.Inputs = append(unit.Inputs, r.Digest())
		if kind := r.Key().Kind; kind == resource.KindFile || kind == resource.KindArtifact {
			unit.Reads = append(unit.Reads, r.Key().Name)
		}
	}
	return []resource.Resource{file, unit}, nil
}

// Text is the unit file.
func (s Service) Text() ([]byte, error) {
	data := struct {
		Description, Type, ExecStart, KillMode, StartTimeout, StopTimeout, RestartSec string
		EnvironmentFile                                                               string
		After, Wants, Environment, ExecStartPre                                       []string
		Delegate, Limits                                                              bool
		OOMScoreAdjust                                                                int
	}{
		Description: EscapeUnit(s.Description), Type: s.Type, ExecStart: CommandLine(s.Args), After: s.After, Wants: s.Wants,
		KillMode: "control-group", StartTimeout: seconds(s.StartTimeout, 90*time.Second), StopTimeout: seconds(s.StopTimeout, 30*time.Second),
		EnvironmentFile: s.EnvironmentFile, RestartSec: "1s", Delegate: s.Delegate, Limits: s.Limits, OOMScoreAdjust: s.OOMScore,
	}
	if s.KillMode != "" {
		data.KillMode = s.KillMode
	}
	for _, e := range s.Environment {
		data.Environment = append(data.Environment, quote(e, false))
	}
	for _, c := range s.Before {
		data.ExecStartPre = append(data.ExecStartPre, CommandLine(c))
	}
	text, err := templates.Render("service.tmpl", data)
	if err != nil {
		return nil, fmt.Errorf("unit %s: %w", s.Name, err)
	}
	return text, nil
}

func seconds(d, otherwise time.Duration) string {
	if d == 0 {
		d = otherwise
	}
	return fmt.Sprintf("%ds", int(d.Seconds()))
}

// CommandLine writes an argument vector so that systemd starts exactly these arguments, one a
// line (systemd.service(5), "Command lines").
func CommandLine(args []string) string {
	quoted := make([]string, len(args))
	for i, a := range args {
		quoted[i] = quote(a, true)
	}
	return strings.Join(quoted, " \\\n  ")
}

// EscapeUnit keeps systemd from expanding % specifiers in a plain value (systemd.unit(5)).
func EscapeUnit(s string) string { return strings.ReplaceAll(s, "%", "%%") }

// quote escapes one word of a unit file: % always, $ where systemd would substitute variables.
func quote(word string, command bool) string {
	var b strings.Builder
	plain := word != ""
	for _, r := range word {
		switch {
		case r == '"' || r == '\\':
			b.WriteRune('\\')
			b.WriteRune(r)
			plain = false
		case r == '\n':
			b.WriteString(`\n`)
			plain = false
		case r == '\r': // ends a line for systemd, as a newline does
			b.WriteString(`\r`)
			plain = false
		case r == '\t':
			b.WriteString(`\t`)
			plain = false
		case r == '%':
			b.WriteString("%%")
		case r == '$' && command:
			b.WriteString("$$")
		default:
			if r == ' ' || r == '\'' || r == ';' || r == '#' {
				plain = false
			}
			b.WriteRune(r)
		}
	}
	if plain {
		return b.String()
	}
	return `"` + b.String() + `"`
}

// Flags turns own and extra into --name=value arguments, sorted by name; extra never repeats a
// name of own but one that is a mere default, which it replaces: the spec refuses the others.
func Flags(own, extra map[string]string) []string {
	all := maps.Clone(own)
	maps.Copy(all, extra)
	var out []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, "--"+name+"="+all[name])
	}
	return out
}
