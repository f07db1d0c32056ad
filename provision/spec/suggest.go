package spec

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// suggestField says what the unknown field name probably is: a neighbour's misspelling first,
// then a field of another object, then whatever comes near.
func suggestField(name string, here []fieldInfo, homes map[string][]string) string {
	var names []string
	for _, f := range here {
		names = append(names, f.name)
	}
	if near, d := nearest(name, names); d <= 1 {
		return fmt.Sprintf("did you mean %s?", near)
	}
	if at := homes[name]; len(at) > 0 {
		return elsewhere(name, at)
	}
	if near, d := nearest(name, names); d <= max(2, len(name)/3) {
		return fmt.Sprintf("did you mean %s?", near)
	}
	if near, d := nearest(name, slices.Sorted(maps.Keys(homes))); d <= 2 && d < len(name)-1 {
		return elsewhere(near, homes[near])
	}
	return "known here: " + strings.Join(names, ", ")
}

func elsewhere(name string, homes []string) string {
	var places []string
	for _, h := range homes {
		if h == "" {
			h = "the top level"
		}
		places = append(places, h)
	}
	return fmt.Sprintf("did you mean %s of %s?", name, strings.Join(places, " or "))
}

// suggestValue says which allowed value was probably meant, or lists all.
func suggestValue(got string, allowed []string) string {
	if near, d := nearest(got, allowed); d <= 2 && d < len(got) {
		return fmt.Sprintf("did you mean %s?", near)
	}
	return ""
}

// nearest gives the candidate with the fewest edits from name and how many those are; upper and
// lower case count as equal.
func nearest(name string, candidates []string) (string, int) {
	best, distance := "", 1<<30
	for _, c := range candidates {
		if d := edits(strings.ToLower(name), strings.ToLower(c)); d < distance {
			best, distance = c, d
		}
	}
	return best, distance
}

// edits counts insertions, deletions, substitutions and swaps of neighbours that turn a into b
// (optimal string alignment distance). Names longer than 64 bytes are near nothing.
func edits(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 1 << 29
	}
	before, prev, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, prev, row = prev, row, before
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}
