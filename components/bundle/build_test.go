package bundle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"clusterctl/components/release"

	"golang.org/x/sync/errgroup"
)

const fakeMain = `package main

import "os"

var version = "unstamped"

func main() { os.Stdout.WriteString("fake " + version + "\n") }
`

// lab is a source root with one tiny component, and a store.
type lab struct {
	t       *testing.T
	options Options
	release release.Release
	events  chan Event
}

func newLab(t *testing.T) *lab {
	t.Helper()
	root := t.TempDir()
	write(t, filepath.Join(root, "components/fake/build/1/main.go"), fakeMain)
	write(t, filepath.Join(root, "components/fake/build/1/go.mod"), "module fake\n\ngo 1.26.0\n")
	l := &lab{t: t, events: make(chan Event, 1000)}
	l.options = Options{Root: root, Dir: t.TempDir(), OS: "linux", Arch: runtime.GOARCH, Parallel: 2, Progress: func(e Event) { l.events <- e }}
	check := release.Check{Args: []string{"fake", "--version"}, Pattern: `^fake (\S+)\n$`, Want: "v1.2.3"}
	stamp := release.Stamp{Symbol: "main.version", Value: "v1.2.3"}
	l.release = release.Release{Kubernetes: "v9.9.9", Components: []release.Component{{
		Name: "fake", Version: "v1.2.3", Dir: "components/fake/build/1",
		Artifacts: []release.Artifact{
			{Name: "fake", Kind: release.Binary, Package: ".", Links: []string{"fake", "fakectl"}, Stamps: []release.Stamp{stamp}, Checks: []release.Check{check}},
			{Name: "fake-image", Kind: release.Image, Package: ".", Stamps: []release.Stamp{stamp}, Checks: []release.Check{check},
				Image: release.ImageSpec{Reference: "registry.example/fake:v1.2.3", Entrypoint: "/fake", User: "65532:65532"}},
		},
	}}}
	return l
}

// copyFor gives a test of its own a lab with what l has built.
func (l *lab) copyFor(t *testing.T) *lab {
	t.Helper()
	c := newLab(t)
	if err := os.CopyFS(c.options.Dir, os.DirFS(l.options.Dir)); err != nil {
		t.Fatal(err)
	}
	return c
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func (l *lab) build() (*Bundle, error) { return build(l.t.Context(), l.release, l.options) }

func (l *lab) mustBuild() *Bundle {
	l.t.Helper()
	b, err := l.build()
	if err != nil {
		l.t.Fatal(err)
	}
	return b
}

// built gives the names of artifacts that were compiled since the last call.
func (l *lab) built() []string {
	names := []string{}
	for {
		select {
		case e := <-l.events:
			if e.Step == StepBuild {
				names = append(names, e.Artifact)
			}
		default:
			slices.Sort(names)
			return names
		}
	}
}

func mustArtifact(t *testing.T, b *Bundle, name string) Artifact {
	t.Helper()
	a, ok := b.Artifact(name)
	if !ok {
		t.Fatalf("no artifact %q", name)
	}
	return a
}

func TestBuildTwiceInEmptyStoresGivesTheSameBundle(t *testing.T) {
	first := newLab(t)
	second := newLab(t) // other source path, other store
	a, b := first.mustBuild(), second.mustBuild()
	if a.Digest() != b.Digest() {
		x, _ := json.MarshalIndent(a.Manifest, "", " ")
		y, _ := json.MarshalIndent(b.Manifest, "", " ")
		t.Errorf("the same sources gave two bundles:\n%s\n%s", x, y)
	}
	for _, x := range a.Artifacts() {
		if x.CompressedSize <= 0 || x.CompressedSize > x.Size {
			t.Errorf("%s: compressed size %d of %d", x.Name, x.CompressedSize, x.Size)
		}
	}
}

func TestBuildKeepsWhatHasNotChanged(t *testing.T) {
	l := newLab(t)
	first := l.mustBuild()
	if got := l.built(); len(got) != 2 {
		t.Fatalf("first build compiled %v", got)
	}
	second := l.mustBuild()
	if got := l.built(); len(got) != 0 || first.Digest() != second.Digest() {
		t.Errorf("second build compiled %v; digests %s, %s", got, first.Digest(), second.Digest())
	}
	write(t, filepath.Join(l.options.Root, "components/fake/build/1/other.go"), "package main\n")
	l.mustBuild()
	if got := l.built(); len(got) != 2 {
		t.Errorf("after a change of the sources it compiled %v", got)
	}
	l.release.Components[0].Artifacts[0].Links = []string{"fake"}
	l.mustBuild()
	if got := l.built(); !slices.Equal(got, []string{"fake"}) {
		t.Errorf("after a change of one artifact it compiled %v", got)
	}
}

func TestBuildRepairsBlobs(t *testing.T) {
	good := newLab(t)
	good.mustBuild()
	for name, damage := range map[string]func(path string) error{
		"missing":   os.Remove,
		"flipped":   flipByte,
		"truncated": func(path string) error { return os.Truncate(path, 10) },
	} {
		t.Run(name, func(t *testing.T) {
			l := good.copyFor(t)
			b := l.mustBuild()
			if got := l.built(); len(got) > 0 {
				t.Errorf("a copied store compiled %v", got)
			}
			if err := damage(b.Path(mustArtifact(t, b, "fake"))); err != nil {
				t.Fatal(err)
			}
			repaired := l.mustBuild()
			if got := l.built(); !slices.Equal(got, []string{"fake"}) {
				t.Errorf("compiled %v, want fake", got)
			}
			if repaired.Digest() != b.Digest() {
				t.Error("the repaired bundle is another one")
			}
			if findings := verify(t.Context(), repaired, l.release); len(findings) > 0 {
				t.Errorf("findings: %v", findings)
			}
		})
	}
}

func flipByte(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	var b [1]byte
	if _, err := f.ReadAt(b[:], 500); err != nil {
		return err
	}
	b[0] ^= 1
	_, err = f.WriteAt(b[:], 500)
	return err
}

func TestMisspelledStampBreaksTheBuild(t *testing.T) {
	l := newLab(t)
	l.release.Components[0].Artifacts[0].Stamps = []release.Stamp{{Symbol: "main.versoin", Value: "v1.2.3"}}
	_, err := l.build()
	wrong, ok := errors.AsType[*VersionError](err)
	if !ok {
		t.Fatalf("error %v, want a VersionError", err)
	}
	if wrong.Component != "fake" || wrong.Want != "v1.2.3" || wrong.Got != "unstamped" {
		t.Errorf("error %#v", wrong)
	}
	if _, err := Open(l.options.Dir, "v9.9.9", "linux", runtime.GOARCH); !errors.As(err, new(*NotBuiltError)) {
		t.Errorf("a bundle was written: %v", err)
	}
}

func TestWrongClientVersionIsSeenInTheUserAgent(t *testing.T) {
	l := newLab(t)
	write(t, filepath.Join(l.options.Root, "components/fake/build/1/main.go"), `package main

import (
	"net/http"
	"os"
)

var version = "unstamped"

func main() {
	r, _ := http.NewRequest("GET", os.Args[1], nil)
	r.Header.Set("User-Agent", "fake/"+version)
	if _, err := http.DefaultClient.Do(r); err != nil {
		panic(err)
	}
}
`)
	l.release.Components[0].Artifacts = l.release.Components[0].Artifacts[:1]
	a := &l.release.Components[0].Artifacts[0]
	a.Checks = []release.Check{{Args: []string{"fake", release.ServerArg}, Server: true, Pattern: `^fake/(\S+)`, Want: "v1.2.3"}}
	l.mustBuild()
	a.Stamps[0].Symbol = "main.misspelled"
	if _, err := l.build(); !errors.As(err, new(*VersionError)) {
		t.Errorf("error %v, want a VersionError", err)
	}
}

func TestCompileErrorNamesComponentAndShowsCompilerOutput(t *testing.T) {
	l := newLab(t)
	write(t, filepath.Join(l.options.Root, "components/fake/build/1/main.go"), "package main\n\nfunc main() { undefinedThing() }\n")
	_, err := l.build()
	if err == nil || !strings.Contains(err.Error(), "component fake") || !strings.Contains(err.Error(), "undefined: undefinedThing") {
		t.Errorf("error %v", err)
	}
}

func TestMissingLibraryErrorSaysWhatToInstall(t *testing.T) {
	l := newLab(t)
	l.release.Components[0].Artifacts[0].Cgo = "libnothere"
	_, err := l.build()
	if err == nil || !strings.Contains(err.Error(), "apt-get install libnothere-dev gcc") {
		t.Errorf("error %v", err)
	}
}

func TestBuildForAnotherMachineChecksTheELF(t *testing.T) {
	l := newLab(t)
	l.options.Arch = map[string]string{"amd64": "arm64", "arm64": "amd64"}[runtime.GOARCH]
	b := l.mustBuild()
	if findings := verify(t.Context(), b, l.release); len(findings) > 0 {
		t.Errorf("findings: %v", findings)
	}
	// The blob of the other machine under this machine's name is found.
	err := checkELF("fake", b.Path(mustArtifact(t, b, "fake")), runtime.GOARCH)
	if !errors.As(err, new(*ArchError)) {
		t.Errorf("error %v, want an ArchError", err)
	}
}

func TestParallelBuildersOfOneStoreBuildOnce(t *testing.T) {
	l := newLab(t)
	var group errgroup.Group
	digests := make([]string, 4)
	for i := range digests {
		group.Go(func() error {
			b, err := l.build()
			if err == nil {
				digests[i] = b.Digest()
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	if got := l.built(); len(got) != 2 {
		t.Errorf("compiled %v, want each artifact once", got)
	}
	if len(slices.Compact(digests)) != 1 {
		t.Errorf("digests differ: %v", digests)
	}
}

// TestMain makes this test binary a builder that can be killed.
func TestMain(m *testing.M) {
	if os.Getenv("BUNDLE_TEST_BUILDER") == "" {
		os.Exit(m.Run())
	}
	var in struct {
		Release release.Release
		Root    string
		Dir     string
	}
	if err := json.NewDecoder(os.Stdin).Decode(&in); err != nil {
		panic(err)
	}
	o := Options{Root: in.Root, Dir: in.Dir, OS: "linux", Arch: runtime.GOARCH, Parallel: 1, Progress: func(e Event) { fmt.Println(e.Artifact, e.Step) }}
	if _, err := build(context.Background(), in.Release, o); err != nil {
		panic(err)
	}
}

func TestKilledBuilderLeavesNothingThatLooksFinished(t *testing.T) {
	want := newLab(t).mustBuild()
	for _, step := range []Step{StepBuild, StepCheck, StepPack, StepDone} {
		t.Run(string(step), func(t *testing.T) {
			l := newLab(t)
			in, err := json.Marshal(map[string]any{"Release": l.release, "Root": l.options.Root, "Dir": l.options.Dir})
			if err != nil {
				t.Fatal(err)
			}
			killAt(t, string(in), "fake "+string(step))
			if bundles, err := List(l.options.Dir); len(bundles) > 0 || err != nil {
				t.Errorf("List = %v, %v", bundles, err)
			}
			b := l.mustBuild()
			if findings := verify(t.Context(), b, l.release); len(findings) > 0 || b.Digest() != want.Digest() {
				t.Errorf("after the kill: digest %s, want %s; findings %v", b.Digest(), want.Digest(), findings)
			}
			left, err := os.ReadDir(filepath.Join(l.options.Dir, "tmp"))
			if err != nil || len(left) > 0 {
				t.Errorf("left in tmp: %v, %v", left, err)
			}
		})
	}
}

// killAt starts a builder process and kills it when it prints the line.
func killAt(t *testing.T, input, line string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "BUNDLE_TEST_BUILDER=1")
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var seen string
	buffer := make([]byte, 1024)
	for !strings.Contains(seen, line+"\n") {
		n, err := out.Read(buffer)
		seen += string(buffer[:n])
		if err != nil {
			t.Fatalf("the builder ended before %q: %v\n%s", line, err, seen)
		}
	}
	cmd.Process.Kill()
	cmd.Wait()
}
