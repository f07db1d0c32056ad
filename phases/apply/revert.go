package apply

import (
	"bytes"
	"context"
	"fmt"

	"clusterctl/components/resource"
	"clusterctl/phases/observe"
	"clusterctl/phases/plan"
	"clusterctl/provision/host"
)

// Keep sets aside on the host what these steps are going to replace for units that they restart, so
// that Revert can bring it back. What an earlier run kept stays as long as the unit had no good
// start since: a run that was killed between write and restart does not lose the way back. The
// content never leaves the host.
func Keep(ctx context.Context, h host.Host, steps []plan.Step) error {
	var ops bytes.Buffer
	for _, u := range restarted(steps) {
		ops.WriteString(fields("former", u.unit.Key.Name, u.unit.Have.Digest) + "\n")
		for _, path := range u.paths {
			ops.WriteString(fields("keep", u.unit.Key.Name, path, observe.StampName(path)) + "\n")
		}
	}
	return perform(ctx, h, &ops, "set aside what is replaced")
}

// Forget drops what Keep set aside: the units had a good start.
func Forget(ctx context.Context, h host.Host, steps []plan.Step) error {
	var ops bytes.Buffer
	for _, u := range restarted(steps) {
		ops.WriteString(fields("forget", u.unit.Key.Name) + "\n")
	}
	return perform(ctx, h, &ops, "drop what was replaced")
}

// Revert brings back what Keep set aside and restarts the units with it: a unit file names the
// program's version, so program, arguments and configuration go back together. The units are
// stamped with the inputs of their last good start, which a later plan compares.
func Revert(ctx context.Context, h host.Host, steps []plan.Step) error {
	var ops bytes.Buffer
	var units []plan.Step
	for _, u := range restarted(steps) {
		ops.WriteString(fields("restore", u.unit.Key.Name) + "\n")
		units = append(units, u.unit)
	}
	ops.WriteString(fields("reload", unitNames(units)) + "\n")
	for _, s := range units {
		ops.WriteString(fields("restart", s.Key.Name, s.Have.Digest) + "\n")
	}
	return perform(ctx, h, &ops, "put back what was replaced")
}

// reader is a unit that is restarted, and the paths that are written for it: those before it,
// behind the unit before. Programs stay: each version has its own path.
type reader struct {
	unit  plan.Step
	paths []string
}

func restarted(steps []plan.Step) []reader {
	var out []reader
	var paths []string
	for _, s := range steps {
		switch s.Key.Kind {
		case resource.KindFile, resource.KindLink:
			paths = append(paths, s.Key.Name)
		case resource.KindUnit:
			if s.Verb == plan.Restart {
				out = append(out, reader{s, paths})
			}
			paths = nil
		}
	}
	return out
}

func perform(ctx context.Context, h host.Host, ops *bytes.Buffer, what string) error {
	if _, err := h.Run(ctx, host.Cmd{Args: []string{"sh", "-c", script, "apply"}, Stdin: ops, Root: true}); err != nil {
		return fmt.Errorf("%s: %w", what, trim(err))
	}
	return nil
}
