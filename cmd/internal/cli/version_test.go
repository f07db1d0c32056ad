package cli

import (
	"encoding/json"
	"runtime/debug"
	"testing"

	"clusterctl/cmd/internal/view"

	"github.com/google/go-cmp/cmp"
)

func TestVersionAsJSON(t *testing.T) {
	code, out, errOut := run(t, "version", "-o", "json")
	if code != 0 || errOut != "" {
		t.Fatalf("code %d, stderr %q", code, errOut)
	}
	var v struct {
		Schema, Version, Go string
		Kubernetes          []string
	}
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if v.Schema != "v1" || v.Version == "" || v.Go == "" || v.Kubernetes == nil {
		t.Errorf("a field is empty: %s", out)
	}
}

func TestVersionOfBuildInfo(t *testing.T) {
	got := versionOf(&debug.BuildInfo{
		GoVersion: "go1.26.0",
		Main:      debug.Module{Version: "v0.3.0"},
		Settings:  []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "true"}},
	})
	want := view.Version{Version: "v0.3.0", Commit: "abc", Modified: true, Go: "go1.26.0"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := versionOf(nil).Version; got != "unknown" {
		t.Errorf("version without build info = %q, want unknown", got)
	}
}
