package phases

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/util/yaml"

	"clusterctl/components/resource"
	"clusterctl/provision/spec"
)

// ManifestError says that the spec's file with a cloud controller cannot be used.
type ManifestError struct {
	Path string
	Err  error
}

func (e *ManifestError) Error() string { return fmt.Sprintf("cloud controller %s: %v", e.Path, e.Err) }

func (e *ManifestError) Unwrap() error { return e.Err }

// ExitCode is the contract's code for a spec that cannot be followed.
func (e *ManifestError) ExitCode() int { return 3 }

// cloudObjects reads the file that the spec names with a cloud controller of the user's.
func cloudObjects(s *spec.Cluster) ([]resource.Resource, error) {
	foreign := s.Spec.Provider.ForeignCloudController()
	if foreign == nil || foreign.Manifest == "" {
		return nil, nil
	}
	path := foreign.Manifest
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(s.Path), path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, &ManifestError{path, err}
	}
	objects, err := readObjects(text)
	if err != nil {
		return nil, &ManifestError{path, err}
	}
	return objects, nil
}

// readObjects reads documents of YAML or JSON, each an object of the API.
func readObjects(text []byte) ([]resource.Resource, error) {
	var out []resource.Resource
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for n := 1; ; n++ {
		var fields map[string]any
		err := documents.Decode(&fields)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", n, err)
		}
		if len(fields) == 0 {
			continue // nothing between two separators
		}
		m, err := object(fields)
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", n, err)
		}
		out = append(out, m)
	}
	if len(out) == 0 {
		return nil, errors.New("it has no object")
	}
	return out, nil
}

// object is an object that can be applied: which and where is said.
func object(fields map[string]any) (resource.Manifest, error) {
	m, err := resource.ManifestOf(fields)
	if err != nil {
		return m, err
	}
	o := m.Object
	switch {
	case o.GetAPIVersion() == "" || o.GetKind() == "":
		return m, errors.New("it has no apiVersion or no kind")
	case o.IsList():
		return m, fmt.Errorf("it is a %s: write its items as documents", o.GetKind())
	case o.GetName() == "":
		return m, fmt.Errorf("the %s has no name", o.GetKind())
	}
	return m, nil
}
