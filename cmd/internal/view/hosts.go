package view

import (
	"fmt"
	"slices"
	"strings"
)

// mostHosts is how many host names a line shows.
const mostHosts = 6

// hostNames joins host names for a line; "" is the cluster as a whole.
func hostNames(hosts []string) string {
	names := slices.Clone(hosts)
	for i, name := range names {
		names[i] = oneLine(name)
		if name == "" {
			names[i] = "the cluster"
		}
	}
	if len(names) > mostHosts {
		left := len(names) - mostHosts + 1
		names = append(names[:mostHosts-1], fmt.Sprintf("and %d more", left))
	}
	return strings.Join(names, ", ")
}

// fold puts items that are the same but for their host together, in the order of the first of
// each. same must be an equivalence.
func fold[T any](items []T, same func(a, b T) bool) [][]T {
	var groups [][]T
	for _, item := range items {
		i := slices.IndexFunc(groups, func(g []T) bool { return same(g[0], item) })
		if i < 0 {
			groups = append(groups, []T{item})
			continue
		}
		groups[i] = append(groups[i], item)
	}
	return groups
}
