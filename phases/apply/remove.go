package apply

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"strings"

	"clusterctl/components"
	"clusterctl/components/resource"
	"clusterctl/provision/host"
)

//go:embed remove.sh
var removeScript string

// vacate takes the cluster off a host that leaves it.
func vacate(ctx context.Context, h host.Host, v resource.Vacant) error {
	left, err := remove(ctx, h, v.UID, v.Owned, v.Purge)
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("%s: left over, remove by hand and run up again:\n  %s", h.Name(), strings.Join(left, "\n  "))
	}
	return err
}

// Remove takes what we put there off a host: units, files, pods, network devices, rules, data.
// It gives what stayed, one line each, and may be run again. A host without the identity of the
// cluster uid is not touched.
func Remove(ctx context.Context, h host.Host, uid string, owned []resource.Resource) (left []string, err error) {
	return remove(ctx, h, uid, owned, true)
}

// remove is Remove; without purge etcd's data is renamed.
func remove(ctx context.Context, h host.Host, uid string, owned []resource.Resource, purge bool) (left []string, err error) {
	data := "keep"
	if purge {
		data = "purge"
	}
	var in bytes.Buffer
	for _, r := range owned {
		switch r.Key().Kind {
		case resource.KindUnit:
			fmt.Fprintf(&in, "unit\t%s\n", r.Key().Name)
		case resource.KindFile, resource.KindArtifact, resource.KindLink:
			if r.Key().Name == components.IdentityPath {
				continue // goes last
			}
			fmt.Fprintf(&in, "path\t%s\n", r.Key().Name)
		}
	}
	out, err := h.Run(ctx, host.Cmd{Args: []string{"sh", "-c", removeScript, "remove", uid, data}, Stdin: &in, Root: true})
	if err != nil {
		return nil, fmt.Errorf("remove: %w", trim(err))
	}
	for line := range strings.Lines(string(out.Stdout)) {
		if what, ok := strings.CutPrefix(strings.TrimSpace(line), "left\t"); ok {
			left = append(left, what)
		}
	}
	return left, nil
}
