package bundle

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"clusterctl/components/release"
)

func TestVerifyFindsWhatIsWrong(t *testing.T) {
	tests := map[string]struct {
		damage         func(t *testing.T, l *lab, b *Bundle)
		artifact, text string
	}{
		"flipped byte": {func(t *testing.T, _ *lab, b *Bundle) {
			check(t, flipByte(b.Path(mustArtifact(t, b, "fake"))))
		}, "fake", "has the digest"},
		"wrong size": {func(t *testing.T, _ *lab, b *Bundle) {
			check(t, os.Truncate(b.Path(mustArtifact(t, b, "fake-image")), 1000))
		}, "fake-image", "has 1000 bytes"},
		"missing blob": {func(t *testing.T, _ *lab, b *Bundle) {
			check(t, os.Remove(b.Path(mustArtifact(t, b, "fake"))))
		}, "fake", "no such file"},
		"unlisted file": {func(t *testing.T, l *lab, _ *Bundle) {
			write(t, filepath.Join(l.options.Dir, bundleName("v9.9.9", "linux", l.options.Arch), "extra"), "x")
		}, "extra", "does not list"},
		"changed bill of materials": {func(t *testing.T, l *lab, _ *Bundle) {
			write(t, filepath.Join(l.options.Dir, bundleName("v9.9.9", "linux", l.options.Arch), sbomFile), "{}")
		}, sbomFile, "its digest is"},
		"wrong version": {func(_ *testing.T, l *lab, _ *Bundle) {
			l.release.Components[0].Artifacts[0].Checks[0].Want = "v1.2.4"
		}, "fake", `answers "v1.2.3", want "v1.2.4"`},
		"wrong image name": {func(_ *testing.T, l *lab, _ *Bundle) {
			l.release.Components[0].Artifacts[1].Image.Reference = "registry.example/other:v1"
		}, "fake-image", "want registry.example/other:v1"},
		"wrong architecture": {func(_ *testing.T, _ *lab, b *Bundle) {
			b.Arch = map[string]string{"amd64": "arm64", "arm64": "amd64"}[b.Arch]
		}, "fake", "is EM_"},
		"artifact missing": {func(_ *testing.T, l *lab, _ *Bundle) {
			c := &l.release.Components[0]
			c.Artifacts = append(c.Artifacts, release.Artifact{Name: "new", Kind: release.Binary})
		}, "new", "not in the bundle"},
	}
	good := newLab(t)
	good.mustBuild()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			l := good.copyFor(t)
			b := l.mustBuild()
			if findings := verify(t.Context(), b, l.release); len(findings) > 0 {
				t.Fatalf("findings of a good bundle: %v", findings)
			}
			test.damage(t, l, b)
			for _, f := range verify(t.Context(), b, l.release) {
				if f.Artifact == test.artifact && strings.Contains(f.Problem, test.text) {
					return
				}
			}
			t.Errorf("findings %v, want %q of %s", verify(t.Context(), b, l.release), test.text, test.artifact)
		})
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestOpenOfAMissingBundleSaysHowToBuildIt(t *testing.T) {
	_, err := Open(t.TempDir(), "1.37.2", "linux", "arm64")
	missing, ok := errors.AsType[*NotBuiltError](err)
	if !ok || missing.Kubernetes != "v1.37.2" {
		t.Fatalf("error %#v", err)
	}
	if want := "clusterctl bundle build --kubernetes v1.37.2 --arch arm64"; !strings.Contains(err.Error(), want) {
		t.Errorf("error %q does not say %q", err, want)
	}
}

func TestListGivesGoodBundlesBesideBrokenOnes(t *testing.T) {
	l := newLab(t)
	l.mustBuild()
	write(t, filepath.Join(l.options.Dir, "v1.0.0-linux-amd64", manifestFile), "{broken")
	write(t, filepath.Join(l.options.Dir, "v1.0.1-linux-amd64", manifestFile), `{"schema":"another/v9"}`)
	write(t, filepath.Join(l.options.Dir, "v1.0.2-linux-amd64", "nothing"), "")
	bundles, err := List(l.options.Dir)
	if len(bundles) != 1 || bundles[0].Kubernetes != "v9.9.9" {
		t.Errorf("List = %v", bundles)
	}
	if err == nil || !strings.Contains(err.Error(), "v1.0.0") || !strings.Contains(err.Error(), "another/v9") {
		t.Errorf("error %v", err)
	}
}

func TestListOfNoStoreIsEmpty(t *testing.T) {
	if bundles, err := List(filepath.Join(t.TempDir(), "none")); len(bundles) > 0 || err != nil {
		t.Errorf("List = %v, %v", bundles, err)
	}
}

func TestArtifactIsFoundByAnyNameAndReadRaw(t *testing.T) {
	b := newLab(t).mustBuild()
	a := mustArtifact(t, b, "fakectl")
	if a.Name != "fake" || a.Component != "fake" || a.Version != "v1.2.3" {
		t.Errorf("artifact %+v", a)
	}
	r, err := b.Open(a)
	check(t, err)
	defer r.Close()
	data, err := io.ReadAll(r)
	check(t, err)
	if sha256Hex(data) != a.SHA256 || int64(len(data)) != a.Size {
		t.Error("the bytes are not the artifact's")
	}
	info, err := os.Stat(b.Path(a))
	check(t, err)
	if info.Mode().Perm() != 0o755 {
		t.Errorf("mode %v", info.Mode())
	}
}
