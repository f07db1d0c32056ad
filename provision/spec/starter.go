package spec

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"
)

//go:embed starter/*.yaml
var starters embed.FS

// ExampleKinds lists what Example knows: the names of the providers.
func ExampleKinds() []string { return []string{"local", "ssh", "aws", "gcp", "vsphere"} }

// Example is a complete spec with comments for a provider, to start from. It is nil for a
// provider that is not known.
func Example(kind string) []byte {
	if !slices.Contains(ExampleKinds(), kind) {
		return nil
	}
	data, err := starters.ReadFile(path.Join("starter", kind+".yaml"))
	if err != nil {
		return nil
	}
	return data
}

// Lines of the starter files that New replaces.
const (
	starterName    = "\n  name: dev\n"
	starterVersion = "\n    version: v1.37.2\n"
)

// New is Example with the cluster's name and the Kubernetes version put in; empty means the
// example's own. A name or version that a spec cannot have is an *Error.
func New(kind, name, version string) ([]byte, error) {
	text := string(Example(kind))
	if text == "" {
		return nil, fmt.Errorf("there is no provider %q; use %s", kind, oneOf(ExampleKinds()))
	}
	if name != "" {
		text = strings.Replace(text, starterName, "\n  name: "+name+"\n", 1)
	}
	if version != "" {
		text = strings.Replace(text, starterVersion, "\n    version: "+version+"\n", 1)
	}
	c, err := Parse("new spec", []byte(text))
	if err != nil {
		return nil, err
	}
	if name != "" && c.Metadata.Name != strings.ToLower(name) {
		return nil, fmt.Errorf("the cluster cannot be called %q; use letters, digits and hyphens", name)
	}
	return []byte(text), nil
}
