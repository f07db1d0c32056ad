package bundle

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"clusterctl/components/release"
)

// Finding is one thing that is wrong with a bundle.
type Finding struct {
	Artifact string `json:"artifact"` // or the name of a file beside the manifest
	Problem  string `json:"problem"`
}

// Verify reads every blob again and asks every binary that this machine can
// run for its version. A bundle without findings is what its manifest says,
// and answers with the versions of its release. The program in an image was
// asked when it was built; the digest holds it since.
func Verify(ctx context.Context, b *Bundle) []Finding {
	r, err := release.For(b.Kubernetes)
	if err != nil {
		return []Finding{{Artifact: manifestFile, Problem: err.Error()}}
	}
	return verify(ctx, b, r)
}

func verify(ctx context.Context, b *Bundle, r release.Release) []Finding {
	var findings []Finding
	found := func(name string, err error) {
		if err != nil {
			findings = append(findings, Finding{Artifact: name, Problem: err.Error()})
		}
	}
	listed := map[string]bool{}
	for _, a := range b.Manifest.Artifacts {
		listed[a.Name] = true
		found(a.Name, b.verifyArtifact(ctx, a, r))
	}
	for _, c := range r.Components {
		for _, a := range c.Artifacts {
			if !listed[a.Name] && c.Part == "" {
				found(a.Name, errors.New("it is in the release, but not in the bundle: build the bundle again"))
			}
		}
	}
	return append(findings, b.verifyFiles()...)
}

func (b *Bundle) verifyArtifact(ctx context.Context, a Artifact, r release.Release) error {
	if err := b.store.holds(a.SHA256, a.Size); err != nil {
		return err
	}
	c, want, ok := findArtifact(r, a.Name)
	if !ok {
		return errors.New("it is not in the release: build the bundle again")
	}
	if a.Version != c.Version {
		return fmt.Errorf("it has version %s, the release has %s: build the bundle again", a.Version, c.Version)
	}
	if a.Kind == release.Binary {
		return checkProgram(ctx, c.Name, want, b.Path(a), b.OS, b.Arch)
	}
	reference, digest, err := readImage(b.Path(a))
	if err != nil {
		return err
	}
	if reference != want.Image.Reference || digest != a.ImageDigest {
		return fmt.Errorf("it holds the image %s@%s, want %s@%s", reference, digest, want.Image.Reference, a.ImageDigest)
	}
	return nil
}

func findArtifact(r release.Release, name string) (release.Component, release.Artifact, bool) {
	for _, c := range r.Components {
		for _, a := range c.Artifacts {
			if a.Name == name {
				return c, a, true
			}
		}
	}
	return release.Component{}, release.Artifact{}, false
}

// verifyFiles looks at the files beside the manifest.
func (b *Bundle) verifyFiles() []Finding {
	dir := b.store.bundle(bundleName(b.Kubernetes, b.OS, b.Arch))
	entries, err := os.ReadDir(dir)
	if err != nil {
		return []Finding{{Artifact: manifestFile, Problem: err.Error()}}
	}
	var findings []Finding
	for _, e := range entries {
		if e.Name() != manifestFile && e.Name() != b.SBOM.Name {
			findings = append(findings, Finding{Artifact: e.Name(), Problem: "the manifest does not list this file"})
		}
	}
	sha, _, err := digest(filepath.Join(dir, b.SBOM.Name))
	if err != nil {
		return append(findings, Finding{Artifact: b.SBOM.Name, Problem: err.Error()})
	}
	if sha != b.SBOM.SHA256 {
		findings = append(findings, Finding{Artifact: b.SBOM.Name, Problem: fmt.Sprintf("its digest is %s, want %s", sha, b.SBOM.SHA256)})
	}
	return findings
}
