package spec

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// explainFormat changes the suggestions for a file of another version of the format: its unknown
// fields are no misspellings then.
func explainFormat(problems []Problem, root *yaml.Node) []Problem {
	format := formatOf(root)
	if format == APIVersion || !strings.HasPrefix(format, "clusterctl/") {
		return problems
	}
	problems = slices.Clone(problems)
	for i := range problems {
		p := &problems[i]
		switch {
		case p.Field == "apiVersion":
			p.Suggestion = "this clusterctl reads " + APIVersion + " only, another format needs another clusterctl"
		case p.Message == unknownField:
			p.Suggestion = "it may be known from " + format
		}
	}
	return problems
}

// formatOf is the file's apiVersion, if it has one.
func formatOf(root *yaml.Node) string {
	if root.Kind != yaml.MappingNode {
		return ""
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value == "apiVersion" {
			return root.Content[i+1].Value
		}
	}
	return ""
}
