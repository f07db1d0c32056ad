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

// Keep sets aside on the host what these steps are going to replace, so that Revert can bring it
// back. What was kept before is dropped. The content never leaves the host.
func Keep(ctx context.Context, h host.Host, steps []plan.Step) error {
	ops := bytes.NewBufferString("forget\n")
	for _, path := range replaced(steps) {
		ops.WriteString(fields("keep", path, observe.StampName(path)) + "\n")
	}
	return perform(ctx, h, ops, "set aside what is replaced")
}

// Forget drops what Keep set aside.
func Forget(ctx context.Context, h host.Host) error {
	return perform(ctx, h, bytes.NewBufferString("forget\n"), "drop what was replaced")
}

// Revert brings back what Keep set aside and restarts the units with it: a unit file names the
// program's version, so program, arguments and configuration go back together. The units are
// stamped with the inputs of their last good start, which a later plan compares.
func Revert(ctx context.Context, h host.Host, steps []plan.Step) error {
	var ops bytes.Buffer
	for _, path := range replaced(steps) {
		ops.WriteString(fields("restore", path, observe.StampName(path)) + "\n")
	}
	var units []plan.Step
	for _, s := range steps {
		if s.Verb == plan.Restart {
			units = append(units, s)
		}
	}
	ops.WriteString(fields("reload", unitNames(units)) + "\n")
	for _, s := range units {
		ops.WriteString(fields("restart", s.Key.Name, s.Have.Digest) + "\n")
	}
	return perform(ctx, h, &ops, "put back what was replaced")
}

// replaced are the paths that steps write. Artifacts stay: each version has its own path.
func replaced(steps []plan.Step) []string {
	var out []string
	for _, s := range steps {
		if s.Key.Kind == resource.KindFile || s.Key.Kind == resource.KindLink {
			out = append(out, s.Key.Name)
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
