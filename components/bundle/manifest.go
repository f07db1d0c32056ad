package bundle

import (
	"clusterctl/components/release"
)

// Schema names the form of manifest.json.
const Schema = "clusterctl/bundle/v1"

const (
	manifestFile = "manifest.json"
	sbomFile     = "sbom.cdx.json"
)

// Manifest is manifest.json: everything a bundle holds.
type Manifest struct {
	Schema     string      `json:"schema"`
	Kubernetes string      `json:"kubernetes"` // with v: v1.37.2
	OS         string      `json:"os"`         // as GOOS
	Arch       string      `json:"arch"`       // as GOARCH
	Components []Component `json:"components"`
	Artifacts  []Artifact  `json:"artifacts"`
	SBOM       File        `json:"sbom"` // a file beside the manifest
}

// Component is a project and its version in the bundle.
type Component struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Artifact is one blob of a bundle.
type Artifact struct {
	Name           string       `json:"name"` // unique in a bundle
	Component      string       `json:"component"`
	Version        string       `json:"version"`
	Kind           release.Kind `json:"kind"`
	Links          []string     `json:"links,omitempty"`       // file names a binary is installed as
	Reference      string       `json:"reference,omitempty"`   // of an image
	ImageDigest    string       `json:"imageDigest,omitempty"` // of an image's manifest, sha256:...: what a runtime shows
	Size           int64        `json:"size"`                  // bytes
	CompressedSize int64        `json:"compressedSize"`        // bytes of it as zstd; an image is compressed already
	SHA256         string       `json:"sha256"`                // lower-case hex of the bytes
}

// File is a file by name and content.
type File struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
}

// Size is the sum of all artifacts, in bytes.
func (m Manifest) Size() (raw, compressed int64) {
	for _, a := range m.Artifacts {
		raw += a.Size
		compressed += a.CompressedSize
	}
	return raw, compressed
}
