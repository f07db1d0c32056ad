package components

import (
	"encoding/json"
	"fmt"
	"sync"

	"sigs.k8s.io/yaml"

	"clusterctl/components/resource"
)

// Written keeps texts that were made once: a thousand nodes share most of their files, and YAML is
// what takes the time. It changes no result. It is safe for concurrent use; nil keeps nothing.
type Written struct {
	mu    sync.Mutex
	texts map[string][]byte
}

// once gives the text of key, which make makes when it is not there.
func (w *Written) once(key string, make func() ([]byte, error)) ([]byte, error) {
	if w == nil {
		return make()
	}
	w.mu.Lock()
	text, ok := w.texts[key]
	w.mu.Unlock()
	if ok {
		return text, nil
	}
	text, err := make()
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.texts == nil {
		w.texts = map[string][]byte{}
	}
	w.texts[key] = text
	return text, nil
}

// YAML is a file of the node with v marshalled through its JSON tags.
func (n Node) YAML(path string, v any) (resource.File, error) {
	fields, err := json.Marshal(v)
	if err != nil {
		return resource.File{}, fmt.Errorf("write %s: %w", path, err)
	}
	text, err := n.Written.once("yaml "+string(fields), func() ([]byte, error) { return yaml.JSONToYAML(fields) })
	if err != nil {
		return resource.File{}, fmt.Errorf("write %s: %w", path, err)
	}
	return resource.File{Host: n.Host.Name, Path: path, Mode: 0o600, Content: text}, nil
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
