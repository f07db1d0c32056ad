package preflight

import (
	"slices"
	"strings"
)

// isRuntime tells the traces of a container runtime from those of a cluster.
func isRuntime(path string) bool {
	return strings.HasSuffix(path, "/containerd.service") || strings.HasSuffix(path, "/docker.service") || strings.HasSuffix(path, ".sock")
}

// runtimes: our containerd has the usual socket, data directory and unit name. One that a
// distribution or Docker brought would lose its containers to ours.
func runtimes(m machine) []Finding {
	if m.report.IdentityText != "" {
		return nil
	}
	found := slices.Clone(m.report.Foreign)
	found = slices.DeleteFunc(found, func(p string) bool { return !isRuntime(p) })
	if len(found) == 0 {
		return nil
	}
	return failure("remove the packages (containerd, containerd.io, docker-ce, docker.io) with their data in /var/lib/containerd, or take another host",
		"the host has a container runtime of its own: %s", strings.Join(found, ", "))
}
