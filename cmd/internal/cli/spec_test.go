package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"clusterctl/provision/spec"

	"github.com/google/go-cmp/cmp"
)

// runSpec executes "clusterctl spec" with args and gives its exit code, results and error.
func runSpec(t *testing.T, args ...string) (code int, stdout, message string) {
	t.Helper()
	var out bytes.Buffer
	cmd := newSpecCommand(Streams{In: strings.NewReader(""), Out: &out, Err: &bytes.Buffer{}})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(t.Context())
	if err != nil {
		message = err.Error()
	}
	return exitCode(t.Context(), err), out.String(), message
}

func writeSpec(t *testing.T, name, old, new string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	text := strings.Replace(string(spec.Example("local")), old, new, 1)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSpecInitWritesAValidSpec(t *testing.T) {
	for _, kind := range spec.ExampleKinds() {
		path := filepath.Join(t.TempDir(), "c.yaml")
		code, out, message := runSpec(t, "init", "--provider", kind, "--name", "prod-1", "--kubernetes", "1.37.1", path)
		if code != 0 || out != "" {
			t.Fatalf("%s: code %d, stdout %q, error %s", kind, code, out, message)
		}
		c, err := spec.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		if c.Metadata.Name != "prod-1" || c.Spec.Kubernetes.Version != "v1.37.1" {
			t.Errorf("%s: name %s, version %s", kind, c.Metadata.Name, c.Spec.Kubernetes.Version)
		}
	}
}

func TestSpecInitWithoutFileWritesToStdout(t *testing.T) {
	for _, args := range [][]string{{"init"}, {"init", "-"}} {
		code, out, _ := runSpec(t, args...)
		if code != 0 || out != string(spec.Example("local")) {
			t.Errorf("%q: code %d, stdout %q", args, code, out)
		}
	}
}

func TestSpecInitNeverOverwrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, message := runSpec(t, "init", path)
	if code != 3 || message != path+" exists already and is not overwritten; choose another name or remove it" {
		t.Errorf("code %d, error %s", code, message)
	}
	if got, _ := os.ReadFile(path); string(got) != "mine" {
		t.Errorf("file is now %q", got)
	}
}

func TestSpecInitRefusesWhatASpecCannotHave(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"--provider", "azure"}, `there is no provider "azure"; use local, ssh, aws, gcp or vsphere`},
		{[]string{"--name", "d_v"}, `metadata.name: must be letters, digits and - (a DNS label), got "d_v"; write d-v`},
		{[]string{"--name", "a #b"}, `the cluster cannot be called "a #b"; use letters, digits and hyphens`},
		{[]string{"--kubernetes", "1.30"}, "spec.kubernetes.version: need x.y.z, got 1.30"},
	} {
		code, out, message := runSpec(t, append([]string{"init"}, tt.args...)...)
		if code != 3 || out != "" || !strings.Contains(message, tt.want) {
			t.Errorf("%q: code %d, stdout %q, error %s", tt.args, code, out, message)
		}
	}
}

func TestSpecValidateShowsAllProblemsOfAllFiles(t *testing.T) {
	good := writeSpec(t, "good.yaml", "", "")
	first := writeSpec(t, "first.yaml", "version: v1.37.2", "version: 1.30")
	second := writeSpec(t, "second.yaml", "local: {}", "loca: {}")
	missing := filepath.Join(t.TempDir(), "missing.yaml")

	code, out, message := runSpec(t, "validate", first, good, second, missing)
	if want := good + ": valid, cluster dev, Kubernetes v1.37.2\n"; code != 3 || out != want {
		t.Errorf("code %d, stdout %q, want 3 and %q", code, out, want)
	}
	want := first + ":16: spec.kubernetes.version: need x.y.z, got 1.30\n" +
		second + ":19: spec.provider: need exactly one provider: local, ssh, aws, gcp or vsphere; write local: {} or ssh: {}\n" +
		second + ":20: spec.provider.loca: unknown field; did you mean local?\n" +
		"read spec: open " + missing + ": no such file or directory"
	if diff := cmp.Diff(want, message); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
	if code, _, message := runSpec(t, "validate", good); code != 0 || message != "" {
		t.Errorf("valid file: code %d, error %s", code, message)
	}
}

func TestSpecValidateAsJSON(t *testing.T) {
	good := writeSpec(t, "good.yaml", "", "")
	bad := writeSpec(t, "bad.yaml", "version: v1.37.2", "version: 1.30")
	code, out, _ := runSpec(t, "validate", "-o", "json", good, bad)
	if code != 3 {
		t.Errorf("code %d, want 3", code)
	}
	var got SpecCheck
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	want := SpecCheck{Schema: "v1", Files: []SpecFileCheck{
		{Path: good, Valid: true, Cluster: "dev", Version: "v1.37.2", Problems: []spec.Problem{}},
		{Path: bad, Problems: []spec.Problem{{Line: 16, Column: 5, Field: "spec.kubernetes.version", Message: "need x.y.z, got 1.30"}}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

func TestSpecSchemaIsJSON(t *testing.T) {
	code, out, _ := runSpec(t, "schema")
	if code != 0 || !json.Valid([]byte(out)) || !strings.Contains(out, `"$schema": "https://json-schema.org/draft/2020-12/schema"`) {
		t.Errorf("code %d, %.100s", code, out)
	}
}
