package components

import (
	"encoding/json"
	"fmt"

	"sigs.k8s.io/yaml"

	"clusterctl/components/resource"
)

// YAML is a file with v marshalled through its JSON tags.
func YAML(host, path string, v any) (resource.File, error) {
	text, err := yaml.Marshal(v)
	if err != nil {
		return resource.File{}, fmt.Errorf("write %s: %w", path, err)
	}
	return resource.File{Host: host, Path: path, Mode: 0o600, Content: text}, nil
}

// JSON is a file with v marshalled as indented JSON.
func JSON(host, path string, v any) (resource.File, error) {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return resource.File{}, fmt.Errorf("write %s: %w", path, err)
	}
	return resource.File{Host: host, Path: path, Mode: 0o644, Content: append(text, '\n')}, nil
}

// Secret is a file that only root may read and that is never shown.
func Secret(host, path string, content []byte) resource.File {
	return resource.File{Host: host, Path: path, Mode: 0o600, Content: content, Secret: true}
}

// Public is a file that everybody may read.
func Public(host, path string, content []byte) resource.File {
	return resource.File{Host: host, Path: path, Mode: 0o644, Content: content}
}

// Program is an artifact of the bundle at its versioned path, executable.
func (n Node) Program(artifact, component, file string) (resource.Artifact, error) {
	b, err := n.Binary(artifact)
	if err != nil {
		return resource.Artifact{}, err
	}
	return b.At(n.Host.Name, Install(component, b.Version, file), true), nil
}

// At is the artifact at a path of a host.
func (b Binary) At(host, path string, executable bool) resource.Artifact {
	a := resource.Artifact{Host: host, Path: path, Mode: 0o644, SHA256: b.SHA256, Size: b.Size, Version: b.Version, Open: b.Open}
	if executable {
		a.Mode = 0o755
	}
	return a
}
