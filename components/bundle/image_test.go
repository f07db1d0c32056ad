package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

func TestImageIsAnOCILayoutThatNamesItself(t *testing.T) {
	b := newLab(t).mustBuild()
	a := mustArtifact(t, b, "fake-image")
	files := untar(t, readFile(t, b.Path(a)))
	if got := string(files["oci-layout"]); got != `{"imageLayoutVersion":"1.0.0"}` {
		t.Errorf("oci-layout = %s", got)
	}
	var index v1.IndexManifest
	decode(t, files["index.json"], &index)
	entry := index.Manifests[0]
	if entry.Annotations[nameAnnotation] != "registry.example/fake:v1.2.3" || entry.Digest.String() != a.ImageDigest {
		t.Errorf("index entry %+v, artifact digest %s", entry, a.ImageDigest)
	}
	var manifest v1.Manifest
	decode(t, files["blobs/sha256/"+entry.Digest.Hex], &manifest)
	var config v1.ConfigFile
	decode(t, files["blobs/sha256/"+manifest.Config.Digest.Hex], &config)
	if !slices.Equal(config.Config.Entrypoint, []string{"/fake"}) || config.Config.User != "65532:65532" || config.OS != "linux" || config.Architecture != b.Arch {
		t.Errorf("config %+v", config)
	}
	if len(manifest.Layers) != 1 {
		t.Fatalf("%d layers, want 1", len(manifest.Layers))
	}
	layer, err := gzip.NewReader(bytes.NewReader(files["blobs/sha256/"+manifest.Layers[0].Digest.Hex]))
	check(t, err)
	content, err := io.ReadAll(layer)
	check(t, err)
	if names := slices.Sorted(maps.Keys(untar(t, content))); !slices.Equal(names, []string{"etc/passwd", "fake"}) {
		t.Errorf("layer holds %v", names)
	}
	for name, data := range files {
		if hex, ok := strings.CutPrefix(name, "blobs/sha256/"); ok && sha256Hex(data) != hex {
			t.Errorf("%s has another digest", path.Base(name))
		}
	}
}

func untar(t *testing.T, data []byte) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for r := tar.NewReader(bytes.NewReader(data)); ; {
		header, err := r.Next()
		if err == io.EOF {
			return files
		}
		check(t, err)
		if !header.ModTime.Equal(epoch) || header.Uid != 0 {
			t.Errorf("%s: time %v, owner %d", header.Name, header.ModTime, header.Uid)
		}
		if header.Typeflag == tar.TypeReg {
			files[header.Name], err = io.ReadAll(r)
			check(t, err)
		}
	}
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	check(t, err)
	return data
}

func decode(t *testing.T, data []byte, v any) {
	t.Helper()
	check(t, json.Unmarshal(data, v))
}

func TestBillOfMaterialsListsArtifactsAndModules(t *testing.T) {
	l := newLab(t)
	b := l.mustBuild()
	data := readFile(t, l.options.Dir+"/"+bundleName("v9.9.9", "linux", b.Arch)+"/"+sbomFile)
	var bom struct {
		BOMFormat, SpecVersion string
		Components             []struct{ Name, Version string }
	}
	decode(t, data, &bom)
	names := map[string]string{}
	for _, c := range bom.Components {
		names[c.Name] = c.Version
	}
	if bom.BOMFormat != "CycloneDX" || bom.SpecVersion != "1.6" || names["fake"] != "v1.2.3" || names["fake-image"] != "v1.2.3" || !strings.HasPrefix(names["std"], "1.26") {
		t.Errorf("bill of materials:\n%s", data)
	}
}
