// Package apply carries out steps: on a host in as few round trips as their order allows, on the
// cluster through its API.
package apply

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"io"
	"strings"

	"clusterctl/components/resource"
	"clusterctl/phases/observe"
	"clusterctl/phases/plan"
	"clusterctl/provision/host"
)

//go:embed apply.sh
var script string

// Host does steps on h in order. done is told of each step that is over; an error names the step
// that went wrong, and nothing after it was tried.
func Host(ctx context.Context, h host.Host, steps []plan.Step, done func(plan.Step)) error {
	for len(steps) > 0 {
		if v, ok := steps[0].Want.(resource.Vacant); ok {
			if err := vacate(ctx, h, v); err != nil {
				return err
			}
			done(steps[0])
			steps = steps[1:]
			continue
		}
		n := run(steps, isPut)
		if n > 0 {
			if err := put(ctx, h, steps[:n]); err != nil {
				return err
			}
			for _, s := range steps[:n] {
				done(s)
			}
			steps = steps[n:]
			continue
		}
		n = run(steps, func(s plan.Step) bool { return !isPut(s) && s.Key.Kind != resource.KindVacant })
		if err := operate(ctx, h, steps[:n], done); err != nil {
			return err
		}
		steps = steps[n:]
	}
	return nil
}

// run is the number of leading steps for which is holds.
func run(steps []plan.Step, is func(plan.Step) bool) int {
	for i, s := range steps {
		if !is(s) {
			return i
		}
	}
	return len(steps)
}

func isPut(s plan.Step) bool {
	return s.Key.Kind == resource.KindFile || s.Key.Kind == resource.KindArtifact || s.Key.Kind == resource.KindSeed
}

func put(ctx context.Context, h host.Host, steps []plan.Step) error {
	var files []host.File
	var installed []resource.Artifact
	for _, s := range steps {
		switch r := s.Want.(type) {
		case resource.File:
			files = append(files, fileOf(r))
		case resource.Seed:
			files = append(files, fileOf(r.File))
		case resource.Artifact:
			files = append(files, host.File{Path: r.Path, Mode: r.Mode, Size: r.Size, SHA256: r.SHA256, Open: r.Open, Lazy: true})
			installed = append(installed, r)
		}
	}
	if err := h.Put(ctx, files...); err != nil {
		return fmt.Errorf("put %s: %w", describe(steps), err)
	}
	return Remember(ctx, h, installed)
}

func fileOf(r resource.File) host.File {
	return host.File{
		Path: r.Path, Mode: r.Mode, Owner: r.Owner, Size: int64(len(r.Content)), SHA256: resource.Sum(r.Content),
		Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(r.Content)), nil },
	}
}

// Remember writes down on the host that these artifacts have the digests that they should have,
// so that the next run need not read them.
func Remember(ctx context.Context, h host.Host, installed []resource.Artifact) error {
	if len(installed) == 0 {
		return nil
	}
	var stamps bytes.Buffer
	for _, a := range installed {
		fmt.Fprintf(&stamps, "installed\t%s\t%s\t%s\n", a.Path, a.SHA256, observe.StampName(a.Path))
	}
	if _, err := h.Run(ctx, host.Cmd{Args: []string{"sh", "-c", script, "apply"}, Stdin: &stamps, Root: true}); err != nil {
		return fmt.Errorf("remember installed files: %w", trim(err))
	}
	return nil
}

// operate does steps that are commands in one session.
func operate(ctx context.Context, h host.Host, steps []plan.Step, done func(plan.Step)) error {
	var ops bytes.Buffer
	var order []plan.Step // the step of each line; a zero step for lines of ours
	for i, s := range steps {
		if s.Key.Kind == resource.KindUnit && (i == 0 || steps[i-1].Key.Kind != resource.KindUnit) {
			ops.WriteString(fields("reload", unitNames(steps[i:])) + "\n")
			order = append(order, plan.Step{})
		}
		line, err := operation(s)
		if err != nil {
			return err
		}
		ops.WriteString(line + "\n")
		order = append(order, s)
	}
	lines, out := io.Pipe()
	finished := make(chan struct{})
	next := 0
	go func() {
		defer close(finished)
		for scan := bufio.NewScanner(lines); scan.Scan(); {
			if !strings.HasPrefix(scan.Text(), "ok\t") {
				continue // a program that the operation calls printed it
			}
			if next < len(order) && order[next].Want != nil {
				done(order[next])
			}
			next++
		}
		_, _ = io.Copy(io.Discard, lines) // after a line without end, the host must not be blocked
	}()
	_, err := h.Run(ctx, host.Cmd{Args: []string{"sh", "-c", script, "apply"}, Stdin: &ops, Stdout: out, Root: true})
	out.Close()
	<-finished
	if err != nil {
		return fmt.Errorf("%s: %w", current(order, next), trim(err))
	}
	return nil
}

// unitNames are the units that follow each other, parted by spaces: no unit of ours has one in
// its name.
func unitNames(steps []plan.Step) string {
	n := run(steps, func(s plan.Step) bool { return s.Key.Kind == resource.KindUnit })
	names := make([]string, n)
	for i, s := range steps[:n] {
		names[i] = s.Key.Name
	}
	return strings.Join(names, " ")
}

func current(order []plan.Step, next int) string {
	for ; next < len(order); next++ {
		if s := order[next]; s.Want != nil {
			return string(s.Verb) + " " + s.Want.Title()
		}
	}
	return "operate"
}

// trim drops the script's text from a failed command: what it printed says more.
func trim(err error) error {
	exit, ok := err.(*host.ExitError)
	if !ok {
		return err
	}
	short := *exit
	short.Args = []string{"apply"}
	return &short
}

func operation(s plan.Step) (string, error) {
	switch r := s.Want.(type) {
	case resource.Dir:
		return fields("dir", r.Path, fmt.Sprintf("%04o", r.Mode.Perm()), r.Owner), nil
	case resource.Link:
		return fields("link", r.Path, r.Target), nil
	case resource.Module:
		return fields("module", r.Name), nil
	case resource.Sysctl:
		return fields("sysctl", r.Name, r.Value), nil
	case resource.Swap:
		return "swap", nil
	case resource.Record:
		return fields("record", strings.Join(r.Paths, " ")), nil // none of ours has a space
	case resource.Aside:
		return fields("aside", r.Key().Name, "etcd.service"), nil
	case resource.Image:
		return fields("image", r.Archive, r.Reference), nil
	case resource.Unit:
		verb := "start"
		switch {
		case s.Verb == plan.Restart:
			verb = "restart"
		case r.Detached:
			verb = "begin"
		}
		return fields(verb, r.Name, r.Digest()), nil
	}
	return "", fmt.Errorf("%s: no operation for a %s", s.Key, s.Key.Kind)
}

func fields(f ...string) string { return strings.Join(f, "\t") }

func describe(steps []plan.Step) string {
	if len(steps) == 1 {
		return steps[0].Want.Title()
	}
	return fmt.Sprintf("%s and %d more", steps[0].Want.Title(), len(steps)-1)
}
