//go:build e2e

package e2e

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"clusterctl/provision/host"
)

// testImage names the image. The registry part is needed: without it the runtime would look for
// docker.io/... and try to pull.
const testImage = "localhost/clusterctl-testpod:1"

// testpodArchive builds the test's program and packs it as an OCI layout, once.
var testpodArchive = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "clusterctl-testpod-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "testpod")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, "./testpod")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return nil, err
	}
	image, err := packImage(program)
	if err != nil {
		return nil, err
	}
	root := filepath.Join(dir, "layout")
	path, err := layout.Write(root, empty.Index)
	if err != nil {
		return nil, err
	}
	if err := path.AppendImage(image, layout.WithAnnotations(map[string]string{"io.containerd.image.name": testImage})); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	if err := w.AddFS(os.DirFS(root)); err != nil {
		return nil, err
	}
	return out.Bytes(), w.Close()
})

// packImage gives an image of one layer with one program, run by a user that is not root.
func packImage(program string) (v1.Image, error) {
	data, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	var files bytes.Buffer
	w := tar.NewWriter(&files)
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "testpod", Mode: 0o755, Size: int64(len(data))}); err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files.Bytes())), nil }
	layer, err := tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.AppendLayers(base, layer)
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", "amd64"
	config.Config = v1.Config{Entrypoint: []string{"/testpod"}, User: "65532:65532"}
	return mutate.ConfigFile(image, config)
}

// importImage brings the test image to hosts, as people do who have no registry.
func (c *cluster) importImage(t *testing.T, hosts ...string) {
	t.Helper()
	archive, err := testpodArchive()
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(archive)
	for _, name := range hosts {
		const path = "/var/tmp/testpod.tar"
		err := c.host(name).Put(t.Context(), host.File{
			Path: path, Mode: 0o600, Size: int64(len(archive)), SHA256: hex.EncodeToString(sum[:]),
			Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive)), nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		c.sh(t, name, "ctr --namespace k8s.io images import "+path+" && rm "+path)
	}
}
