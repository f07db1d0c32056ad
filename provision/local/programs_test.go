package local

import (
	"os"
	"path/filepath"
	"testing"

	"clusterctl/provision"
	"clusterctl/provision/event"
)

func TestTreeOfProgramsIsNamedByItsContentAndMadeOnce(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "blob")
	if err := os.WriteFile(source, []byte("program"), 0o644); err != nil {
		t.Fatal(err)
	}
	linked := provision.Program{Path: "/opt/a/image.tar", Mode: 0o644, SHA256: "1", Source: source}
	copied := provision.Program{Path: "/opt/a/program", Mode: 0o755, SHA256: "1", Source: source}
	p := New(Options{CacheDir: filepath.Join(dir, "cache")}).WithPrograms([]provision.Program{linked, copied})
	if err := os.MkdirAll(filepath.Join(dir, "cache", "programs", "tmp", "left"), 0o755); err != nil { // by a maker that was killed
		t.Fatal(err)
	}
	tree, err := p.ensurePrograms(t.Context(), event.Discard)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []provision.Program{linked, copied} {
		path := filepath.Join(tree, want.Path)
		info, err := os.Stat(path)
		if err != nil || info.Mode() != want.Mode {
			t.Errorf("%s: mode %v, want %v, error %v", want.Path, info.Mode(), want.Mode, err)
		}
		if have, err := os.ReadFile(path); err != nil || string(have) != "program" {
			t.Errorf("%s: %q, %v", want.Path, have, err)
		}
	}
	if _, err := os.Stat(filepath.Join(tree, "left")); err == nil {
		t.Error("the tree has what a killed maker left")
	}
	if info, err := os.Stat(source); err != nil || info.Mode() != 0o644 {
		t.Errorf("the source's mode is %v now, error %v", info.Mode(), err)
	}
	if again, err := p.ensurePrograms(t.Context(), event.Discard); err != nil || again != tree {
		t.Errorf("again: %s, %v; want %s", again, err, tree)
	}
	other := copied
	other.SHA256 = "2"
	if programsName([]provision.Program{linked, other}) == filepath.Base(tree) {
		t.Error("another content has the same name")
	}
}
