package bundle

import (
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	"clusterctl/components/release"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sync/errgroup"
)

// Options say what Build makes, and where.
type Options struct {
	Root       string      // source checkout: the directory that holds components/
	Dir        string      // the bundle store
	Kubernetes string      // version, see release.Supported
	OS, Arch   string      // as GOOS and GOARCH
	Progress   func(Event) // called from several goroutines; may be nil
	With       []string    // parts that only some clusters need, see release.Parts; what the bundle has of them stays
	Parallel   int         // artifacts built at the same time; go build is parallel itself. 0 is 1
}

// Build makes the bundle of a Kubernetes version. What was built before from
// the same inputs is taken from the store. Every program that this machine can
// run is asked for its version; a wrong answer is a *VersionError, and the
// bundle stays as it was. Several builders may share a store, and a killed one
// leaves nothing that a later one takes for finished.
func Build(ctx context.Context, o Options) (*Bundle, error) {
	r, err := release.For(o.Kubernetes)
	if err != nil {
		return nil, err
	}
	return build(ctx, r, o)
}

func build(ctx context.Context, r release.Release, o Options) (*Bundle, error) {
	if o.OS != "linux" {
		return nil, fmt.Errorf("operating system %q is not supported: hosts run linux", o.OS)
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	tools, err := findToolchain(ctx, o.OS, o.Arch)
	if err != nil {
		return nil, err
	}
	b := &builder{store: store(dir), tools: tools, options: o}
	r.Components = b.wanted(r)
	var records []*record
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(max(1, o.Parallel))
	for _, c := range r.Components {
		for _, a := range c.Artifacts {
			done := new(record)
			records = append(records, done)
			group.Go(func() (err error) {
				*done, err = b.artifact(groupCtx, c, a)
				return err
			})
		}
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("build the bundle of Kubernetes %s: %w", r.Kubernetes, err)
	}
	return b.finish(r, records)
}

// wanted are the components of a bundle: those that all have, those of the parts that are asked for, and
// those of parts that it has already.
func (b *builder) wanted(r release.Release) []release.Component {
	before, err := read(b.store, bundleName(r.Kubernetes, b.tools.goos, b.tools.goarch))
	return slices.DeleteFunc(slices.Clone(r.Components), func(c release.Component) bool {
		had := err == nil && slices.ContainsFunc(before.Components, func(old Component) bool { return old.Name == c.Name })
		return c.Part != "" && !had && !slices.Contains(b.options.With, c.Part)
	})
}

type builder struct {
	store   store
	tools   toolchain
	options Options
}

// record is what a finished build leaves beside its blob, under its key.
type record struct {
	Artifact Artifact        `json:"artifact"`
	Go       string          `json:"go"`
	Modules  []*debug.Module `json:"modules"` // linked into the program, with their checksums
}

// artifact gives the record of a, from the store or by building it.
func (b *builder) artifact(ctx context.Context, c release.Component, a release.Artifact) (record, error) {
	t := &track{event: Event{Component: c.Name, Artifact: a.Name}, started: time.Now(), report: b.options.Progress}
	dir := filepath.Join(b.options.Root, filepath.FromSlash(c.Dir))
	inputs, err := b.tools.inputs(ctx, a)
	if err != nil {
		return record{}, err
	}
	key, err := buildKey(dir, a, append(inputs, c.Name, c.Version), b.tools.goos, b.tools.goarch)
	if err != nil {
		return record{}, err
	}
	t.step(StepWait)
	unlock, err := b.store.lock(ctx, key)
	if err != nil {
		return record{}, err
	}
	defer unlock()
	if r, ok := b.built(key); ok {
		t.step(StepReuse)
		return r, nil
	}
	r, err := b.make(ctx, t, c, a, dir, b.store.scratch(key))
	if err != nil {
		return record{}, err
	}
	data, err := encode(r)
	if err != nil {
		return record{}, err
	}
	if err := writeFile(b.store.record(key), data); err != nil {
		return record{}, err
	}
	t.step(StepDone)
	return r, nil
}

// built gives the record of an earlier build whose blob is still whole.
func (b *builder) built(key string) (record, bool) {
	data, err := os.ReadFile(b.store.record(key))
	if err != nil {
		return record{}, false
	}
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return record{}, false
	}
	return r, b.store.holds(r.Artifact.SHA256, r.Artifact.Size) == nil
}

// make builds, checks, packs and stores a. The scratch directory is this
// builder's alone (it holds the key's lock); what a killed one left is removed.
func (b *builder) make(ctx context.Context, t *track, c release.Component, a release.Artifact, dir, scratch string) (r record, err error) {
	if err := errors.Join(os.RemoveAll(scratch), os.MkdirAll(scratch, 0o755)); err != nil {
		return record{}, fmt.Errorf("make room in the bundle store: %w", err)
	}
	defer os.RemoveAll(scratch)
	program := filepath.Join(scratch, "program")
	t.step(StepBuild)
	err = t.long(ctx, func(ctx context.Context) error { return b.tools.compile(ctx, dir, a, program) })
	if err != nil {
		return record{}, fmt.Errorf("component %s, artifact %s: %w", c.Name, a.Name, err)
	}
	t.step(StepCheck)
	if err := checkProgram(ctx, c.Name, a, program, b.tools.goos, b.tools.goarch); err != nil {
		return record{}, err
	}
	t.step(StepPack)
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return record{}, fmt.Errorf("artifact %s: read its build information: %w", a.Name, err)
	}
	entry, err := b.pack(c, a, program, filepath.Join(scratch, "image.tar"))
	if err != nil {
		return record{}, fmt.Errorf("artifact %s: %w", a.Name, err)
	}
	return record{Artifact: entry, Go: info.GoVersion, Modules: info.Deps}, nil
}

// pack stores a program, or the image made of it.
func (b *builder) pack(c release.Component, a release.Artifact, program, image string) (Artifact, error) {
	entry := Artifact{Name: a.Name, Component: c.Name, Version: c.Version, Kind: a.Kind, Links: a.Links, Reference: a.Image.Reference}
	file, mode := program, os.FileMode(0o755)
	var err error
	if a.Kind == release.Image {
		file, mode = image, 0o644
		if entry.ImageDigest, err = packImage(program, a.Image, b.tools.goos, b.tools.goarch, image); err != nil {
			return Artifact{}, err
		}
	} else if entry.CompressedSize, err = compressedSize(program); err != nil {
		return Artifact{}, err
	}
	if entry.SHA256, entry.Size, err = b.store.add(file, mode); err != nil {
		return Artifact{}, err
	}
	if a.Kind == release.Image {
		entry.CompressedSize = entry.Size
	}
	return entry, nil
}

// compressedSize is how many bytes a transfer of the file with zstd takes.
func compressedSize(path string) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var n counter
	z, err := zstd.NewWriter(&n, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(z, f)
	return int64(n), errors.Join(err, z.Close())
}

type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// finish writes SBOM and manifest. The manifest comes last: it makes the bundle.
func (b *builder) finish(r release.Release, records []*record) (*Bundle, error) {
	m := Manifest{Schema: Schema, Kubernetes: r.Kubernetes, OS: b.tools.goos, Arch: b.tools.goarch}
	for _, c := range r.Components {
		m.Components = append(m.Components, Component{Name: c.Name, Version: c.Version})
	}
	for _, rec := range records {
		m.Artifacts = append(m.Artifacts, rec.Artifact)
	}
	sbom, err := billOfMaterials(m, records)
	if err != nil {
		return nil, fmt.Errorf("write the bill of materials: %w", err)
	}
	m.SBOM = File{Name: sbomFile, SHA256: sha256Hex(sbom)}
	data, err := encode(m)
	if err != nil {
		return nil, err
	}
	dir := b.store.bundle(bundleName(m.Kubernetes, m.OS, m.Arch))
	if err := writeFile(filepath.Join(dir, sbomFile), sbom); err != nil {
		return nil, err
	}
	if err := writeFile(filepath.Join(dir, manifestFile), data); err != nil {
		return nil, err
	}
	return Open(string(b.store), m.Kubernetes, m.OS, m.Arch)
}
