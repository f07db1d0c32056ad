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

// Remove takes what we put there off a host: units, files, pods, network devices, rules, data.
// It gives what stayed, one line each, and may be run again. A host without the identity of the
// cluster uid is not touched.
func Remove(ctx context.Context, h host.Host, uid string, owned []resource.Resource) (left []string, err error) {
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
	out, err := h.Run(ctx, host.Cmd{Args: []string{"sh", "-c", removeScript, "remove", uid}, Stdin: &in, Root: true})
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
