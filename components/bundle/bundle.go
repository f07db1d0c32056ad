// Package bundle builds, reads and checks bundles. A bundle is all that
// clusterctl brings to a host for one Kubernetes version, operating system
// and architecture: programs and images built from the nested modules under
// components, a manifest with the digest of each, and a bill of materials.
package bundle

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Bundle is a built bundle in a store. It is read only and safe for concurrent use.
type Bundle struct {
	Manifest
	store  store
	digest string
}

// NotBuiltError says that the store has no such bundle; its text says how to
// make it.
type NotBuiltError struct{ Dir, Kubernetes, OS, Arch string }

func (e *NotBuiltError) Error() string {
	return fmt.Sprintf("no bundle of Kubernetes %s for %s/%s in %s: run \"clusterctl bundle build --kubernetes %s --arch %s\"",
		e.Kubernetes, e.OS, e.Arch, e.Dir, e.Kubernetes, e.Arch)
}

// Open reads the manifest of a bundle; Verify looks at its blobs. A bundle
// that is not there is a *NotBuiltError.
func Open(dir, kubernetes, goos, goarch string) (*Bundle, error) {
	kubernetes = "v" + strings.TrimPrefix(kubernetes, "v")
	b, err := read(store(dir), bundleName(kubernetes, goos, goarch))
	if errors.Is(err, os.ErrNotExist) {
		return nil, &NotBuiltError{Dir: dir, Kubernetes: kubernetes, OS: goos, Arch: goarch}
	}
	return b, err
}

func read(s store, name string) (*Bundle, error) {
	path := filepath.Join(s.bundle(name), manifestFile)
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	b := &Bundle{store: s, digest: sha256Hex(data)}
	if err := json.Unmarshal(data, &b.Manifest); err != nil {
		return nil, fmt.Errorf("read %s: %w: build the bundle again", path, err)
	}
	if b.Schema != Schema {
		return nil, fmt.Errorf("read %s: schema %q, want %q: build the bundle again", path, b.Schema, Schema)
	}
	if got := bundleName(b.Kubernetes, b.OS, b.Arch); got != name {
		return nil, fmt.Errorf("read %s: it is the manifest of %s: build the bundle again", path, got)
	}
	return b, nil
}

// List gives all bundles of a store, by name. A store that is not there is
// empty. The error joins what is wrong with the entries that cannot be read;
// the others are given all the same.
func List(dir string) ([]*Bundle, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "v*-*-*", manifestFile))
	if err != nil {
		return nil, err
	}
	var (
		bundles  []*Bundle
		problems []error
	)
	for _, path := range paths {
		b, err := read(store(dir), filepath.Base(filepath.Dir(path)))
		if err != nil {
			problems = append(problems, err)
			continue
		}
		bundles = append(bundles, b)
	}
	return bundles, errors.Join(problems...)
}

// Digest names the whole bundle: the SHA-256 of its manifest, lower-case hex.
func (b *Bundle) Digest() string { return b.digest }

// Artifact gives the artifact of that name. A binary is also found by a name
// that it is installed as: kubelet gives the artifact kubernetes.
func (b *Bundle) Artifact(name string) (Artifact, bool) {
	for _, a := range b.Manifest.Artifacts {
		if a.Name == name || slices.Contains(a.Links, name) {
			return a, true
		}
	}
	return Artifact{}, false
}

// Artifacts gives all artifacts in the order of the release table.
func (b *Bundle) Artifacts() []Artifact { return slices.Clone(b.Manifest.Artifacts) }

// Path is where an artifact's blob lies.
func (b *Bundle) Path(a Artifact) string { return b.store.blob(a.SHA256) }

// Open gives an artifact's bytes.
func (b *Bundle) Open(a Artifact) (io.ReadCloser, error) {
	f, err := os.Open(b.Path(a))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("open artifact %s: %w: run \"clusterctl bundle build --kubernetes %s --arch %s\"", a.Name, err, b.Kubernetes, b.Arch)
	}
	if err != nil {
		return nil, fmt.Errorf("open artifact %s: %w", a.Name, err)
	}
	return f, nil
}

func bundleName(kubernetes, goos, goarch string) string {
	return kubernetes + "-" + goos + "-" + goarch
}

func sha256Hex(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
