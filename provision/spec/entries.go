package spec

import (
	"fmt"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// entry is one key of a mapping with its value.
type entry struct {
	name       string
	key, value *yaml.Node
}

// entries lists a mapping's keys in the file's order, with those that merge keys (<<) bring in
// after the mapping's own. A key of the mapping itself wins over a merged one, and an earlier
// merged mapping over a later one, as the YAML merge type says. Duplicates are reported, with the
// path that at gives a name, and left out.
func (r *reader) entries(path *field.Path, n *yaml.Node, at func(string) *field.Path) []entry {
	var out []entry
	var merged []*yaml.Node
	seen := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		if key.Kind != yaml.ScalarNode || isNull(key) || key.Value == "" {
			r.report(path, positionOf(n.Content[i]), "expected a name before the colon, found "+describe(key), "")
			continue
		}
		if key.ShortTag() == "!!merge" {
			merged = append(merged, value)
			continue
		}
		if first, ok := seen[key.Value]; ok {
			r.report(at(key.Value), positionOf(key),
				fmt.Sprintf("is set twice, first on line %d", first.Line), "keep one of them")
			continue
		}
		seen[key.Value] = key
		out = append(out, entry{key.Value, key, value})
	}
	for _, m := range merged {
		for _, e := range r.mergedEntries(path, m, at) {
			if seen[e.name] == nil {
				seen[e.name] = e.key
				out = append(out, e)
			}
		}
	}
	return out
}

// mergedEntries lists what the value of a merge key brings in: a mapping or a list of mappings.
func (r *reader) mergedEntries(path *field.Path, n *yaml.Node, at func(string) *field.Path) []entry {
	place := positionOf(n)
	n, leave := r.enter(path, n)
	defer leave()
	switch {
	case n == nil:
		return nil
	case n.Kind == yaml.MappingNode:
		return r.entries(path, n, at)
	case n.Kind == yaml.SequenceNode:
		var out []entry
		for _, item := range n.Content {
			if item.Kind == yaml.SequenceNode {
				r.report(path, positionOf(item), "a merge key (<<) takes mappings, found a list", "")
				continue
			}
			out = append(out, r.mergedEntries(path, item, at)...)
		}
		return out
	}
	r.report(path, place, "a merge key (<<) takes a mapping, found "+describe(n), "")
	return nil
}
