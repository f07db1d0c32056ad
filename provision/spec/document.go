package spec

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// parseDocument gives the root node of the only YAML document in data, or nil when there is none.
// Problems may be there with or without a root: a second document does not hide the first one's.
func parseDocument(data []byte) (*yaml.Node, []Problem) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var first yaml.Node
	if err := dec.Decode(&first); errors.Is(err, io.EOF) {
		return nil, []Problem{emptyFile(1)}
	} else if err != nil {
		return nil, []Problem{syntaxProblem(err, data)}
	}
	root := rootOf(&first)
	if isNull(root) {
		return nil, []Problem{emptyFile(max(root.Line, 1))}
	}
	return root, secondDocument(dec, data)
}

func emptyFile(line int) Problem {
	return Problem{Line: line, Message: "the file has no cluster spec in it",
		Suggestion: "clusterctl spec init writes one to start from"}
}

// secondDocument reports what follows the first document. A trailing separator with nothing
// behind it is allowed.
func secondDocument(dec *yaml.Decoder, data []byte) []Problem {
	for {
		var next yaml.Node
		if err := dec.Decode(&next); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return []Problem{syntaxProblem(err, data)}
		}
		if root := rootOf(&next); !isNull(root) {
			return []Problem{{Line: root.Line, Column: root.Column,
				Message:    "a second YAML document starts here, a spec file has one",
				Suggestion: "put each cluster in its own file"}}
		}
	}
}

func rootOf(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.DocumentNode && len(n.Content) == 1 {
		return n.Content[0]
	}
	return n
}

func isNull(n *yaml.Node) bool {
	return n.Kind == 0 || n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}

// syntaxProblem takes the line out of the YAML parser's message, the only place it is in. The
// message about an unknown anchor has none: it is the line that names the alias first.
func syntaxProblem(err error, data []byte) Problem {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 1
	if m := regexp.MustCompile(`^line (\d+): `).FindStringSubmatch(text); m != nil {
		line, _ = strconv.Atoi(m[1])
		text = text[len(m[0]):]
	} else if m := regexp.MustCompile(`^unknown anchor '(.*)'`).FindStringSubmatch(text); m != nil {
		before, _, _ := bytes.Cut(data, []byte("*"+m[1]))
		line = bytes.Count(before, []byte("\n")) + 1
	}
	return Problem{Line: line, Message: "this is not YAML: " + text}
}
