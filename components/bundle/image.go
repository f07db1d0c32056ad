package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"clusterctl/components/release"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// nameAnnotation on an index entry names the image when containerd imports an
// OCI layout (containerd, core/images: AnnotationImageName).
const nameAnnotation = "io.containerd.image.name"

// epoch is the time of every file and image: the same inputs give the same bytes.
var epoch = time.Unix(0, 0).UTC()

// packImage writes an OCI layout tar (image-spec v1, image-layout.md) to out: one layer
// with the program and a minimal /etc/passwd. It gives the digest of the
// image's manifest, which a runtime shows for it.
func packImage(program string, spec release.ImageSpec, goos, goarch, out string) (digest string, err error) {
	layer, err := programLayer(program, spec)
	if err != nil {
		return "", err
	}
	image, err := mutate.AppendLayers(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON), layer)
	if err != nil {
		return "", fmt.Errorf("make the image %s: %w", spec.Reference, err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		return "", err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = goos, goarch, v1.Time{Time: epoch}
	config.Config = v1.Config{Entrypoint: []string{spec.Entrypoint}, User: spec.User, WorkingDir: "/"}
	for i := range config.History {
		config.History[i].Created = v1.Time{Time: epoch}
	}
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return "", fmt.Errorf("make the image %s: %w", spec.Reference, err)
	}
	hash, err := image.Digest()
	if err != nil {
		return "", err
	}
	f, err := os.Create(out)
	if err != nil {
		return "", err
	}
	if err := errors.Join(writeLayout(f, image, spec.Reference), f.Close()); err != nil {
		return "", fmt.Errorf("write the image %s: %w", spec.Reference, err)
	}
	return hash.String(), nil
}

// programLayer compresses at gzip's fastest level: 3.7 s instead of 12.9 s at
// the default for 13 % more bytes, measured with a program of 41 MB.
func programLayer(program string, spec release.ImageSpec) (v1.Layer, error) {
	data, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	uid, gid, _ := strings.Cut(spec.User, ":")
	passwd := "root:x:0:0:root:/:/sbin/nologin\n"
	if uid != "0" {
		passwd += fmt.Sprintf("nonroot:x:%s:%s:nonroot:/:/sbin/nologin\n", uid, gid)
	}
	var content bytes.Buffer
	err = writeTar(&content, []tarFile{
		{name: "etc/", mode: 0o755},
		{name: "etc/passwd", mode: 0o644, data: []byte(passwd)},
		{name: strings.TrimPrefix(spec.Entrypoint, "/"), mode: 0o755, data: data},
	})
	if err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(content.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(gzip.BestSpeed), tarball.WithCompressedCaching)
}

func writeLayout(w io.Writer, image v1.Image, reference string) error {
	index := mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), mutate.IndexAddendum{
		Add: image, Descriptor: v1.Descriptor{Annotations: map[string]string{nameAnnotation: reference}},
	})
	rawIndex, err := index.RawManifest()
	if err != nil {
		return err
	}
	blobs, err := imageBlobs(image)
	if err != nil {
		return err
	}
	files := []tarFile{
		{name: "oci-layout", mode: 0o644, data: []byte(`{"imageLayoutVersion":"1.0.0"}`)},
		{name: "index.json", mode: 0o644, data: rawIndex},
		{name: "blobs/", mode: 0o755},
		{name: "blobs/sha256/", mode: 0o755},
	}
	return writeTar(w, append(files, blobs...))
}

// imageBlobs gives manifest, config and layers by digest.
func imageBlobs(image v1.Image) ([]tarFile, error) {
	var files []tarFile
	add := func(digest func() (v1.Hash, error), content func() ([]byte, error)) error {
		hash, err := digest()
		if err != nil {
			return err
		}
		data, err := content()
		files = append(files, tarFile{name: "blobs/sha256/" + hash.Hex, mode: 0o644, data: data})
		return err
	}
	layers, err := image.Layers()
	if err != nil {
		return nil, err
	}
	err = errors.Join(add(image.Digest, image.RawManifest), add(image.ConfigName, image.RawConfigFile))
	for _, layer := range layers {
		err = errors.Join(err, add(layer.Digest, func() ([]byte, error) {
			r, err := layer.Compressed()
			if err != nil {
				return nil, err
			}
			defer r.Close()
			return io.ReadAll(r)
		}))
	}
	slices.SortFunc(files, func(a, b tarFile) int { return strings.Compare(a.name, b.name) })
	return files, err
}

// tarFile is an entry of a tar file; a name that ends with a slash is a directory.
type tarFile struct {
	name string
	mode int64
	data []byte
}

func writeTar(w io.Writer, files []tarFile) error {
	t := tar.NewWriter(w)
	for _, f := range files {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Size: int64(len(f.data)), ModTime: epoch, Format: tar.FormatUSTAR}
		if strings.HasSuffix(f.name, "/") {
			header.Typeflag = tar.TypeDir
		}
		if err := t.WriteHeader(header); err != nil {
			return err
		}
		if _, err := t.Write(f.data); err != nil {
			return err
		}
	}
	return t.Close()
}

// readImage gives reference and manifest digest of the one image in an OCI
// layout tar.
func readImage(path string) (reference, digest string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", "", err
	}
	defer f.Close()
	for t := tar.NewReader(f); ; {
		header, err := t.Next()
		if err != nil {
			return "", "", fmt.Errorf("look for index.json of the image: %w", err)
		}
		if header.Name != "index.json" {
			continue
		}
		var index v1.IndexManifest
		if err := json.NewDecoder(t).Decode(&index); err != nil {
			return "", "", fmt.Errorf("read index.json of the image: %w", err)
		}
		if len(index.Manifests) != 1 {
			return "", "", fmt.Errorf("index.json lists %d images, want 1", len(index.Manifests))
		}
		return index.Manifests[0].Annotations[nameAnnotation], index.Manifests[0].Digest.String(), nil
	}
}
