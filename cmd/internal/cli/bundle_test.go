package cli

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"clusterctl/components/bundle"
)

// runBundle runs "clusterctl bundle args" and gives what it wrote.
func runBundle(t *testing.T, args ...string) (out, errOut string, err error) {
	t.Helper()
	var o, e bytes.Buffer
	cmd := newBundleCommand(Streams{In: strings.NewReader(""), Out: &o, Err: &e})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetOut(&o)
	cmd.SetArgs(args)
	err = cmd.ExecuteContext(t.Context())
	return o.String(), e.String(), err
}

func TestBundleListOfAnEmptyStore(t *testing.T) {
	dir := t.TempDir()
	out, errOut, err := runBundle(t, "list", "--bundle-dir", dir, "-o", "json")
	if err != nil || out != "{\n  \"bundles\": []\n}\n" || errOut != "" {
		t.Errorf("list -o json: %q, %q, %v", out, errOut, err)
	}
	out, _, err = runBundle(t, "list", "--bundle-dir", dir)
	if err != nil || out != "KUBERNETES  PLATFORM  SIZE  COMPRESSED  DIGEST\n" {
		t.Errorf("list: %q, %v", out, err)
	}
}

func TestBundleListShowsGoodBundlesAndTellsOfBrokenOnes(t *testing.T) {
	dir := t.TempDir()
	writeManifest(t, dir, "v1.37.2-linux-amd64", `{"schema":"clusterctl/bundle/v1","kubernetes":"v1.37.2","os":"linux","arch":"amd64","artifacts":[{"size":2500000,"compressedSize":1000000}]}`)
	writeManifest(t, dir, "v1.36.3-linux-amd64", `{`)
	out, _, err := runBundle(t, "list", "--bundle-dir", dir)
	if err == nil || !strings.Contains(err.Error(), "v1.36.3-linux-amd64") {
		t.Errorf("error %v does not tell of the broken one", err)
	}
	if !strings.Contains(out, "v1.37.2     linux/amd64  2.5 MB  1.0 MB") {
		t.Errorf("list:\n%s", out)
	}
}

func writeManifest(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name, "manifest.json")
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func TestBundleUsageErrors(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"unknown version": {[]string{"build", "--kubernetes", "v1.2.3"}, "supported are v1.37.2, v1.36.3"},
		"unknown arch":    {[]string{"verify", "--arch", "mips"}, "amd64 or arm64"},
		"no source":       {[]string{"build", "--source", t.TempDir()}, "components/kubernetes/build"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := runBundle(t, append(test.args, "--bundle-dir", t.TempDir())...)
			if _, ok := errors.AsType[*UsageError](err); !ok || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want a UsageError that says %q", err, test.want)
			}
		})
	}
}

func TestBundleVerifyOfAMissingBundleSaysHowToBuildIt(t *testing.T) {
	_, _, err := runBundle(t, "verify", "--kubernetes", "1.36.3", "--bundle-dir", t.TempDir())
	if _, ok := errors.AsType[*bundle.NotBuiltError](err); !ok || !strings.Contains(err.Error(), "clusterctl bundle build --kubernetes v1.36.3") {
		t.Errorf("error %v", err)
	}
}

func TestBundleVerifyReportsFindingsAndFails(t *testing.T) {
	dir := t.TempDir()
	writeManifest(t, dir, "v1.37.2-linux-amd64", `{"schema":"clusterctl/bundle/v1","kubernetes":"v1.37.2","os":"linux","arch":"amd64","artifacts":[]}`)
	out, _, err := runBundle(t, "verify", "--bundle-dir", dir, "--arch", "amd64")
	if err == nil || !strings.Contains(out, "kubernetes: it is in the release, but not in the bundle") {
		t.Errorf("verify: %q, %v", out, err)
	}
}

func TestBundleHelpShowsExamples(t *testing.T) {
	for _, name := range []string{"build", "verify", "list"} {
		out, _, err := runBundle(t, name, "--help")
		if err != nil || !strings.Contains(out, "clusterctl bundle "+name) {
			t.Errorf("%s --help: %v\n%s", name, err, out)
		}
		for line := range strings.Lines(out) {
			if len(strings.TrimRight(line, "\n")) > 100 {
				t.Errorf("%s --help: long line %q", name, line)
			}
		}
	}
}

func TestBundleDirComesFromFlagThenEnvironment(t *testing.T) {
	t.Setenv("CLUSTERCTL_CACHE", "/cache")
	t.Setenv("XDG_CACHE_HOME", "/home/cache")
	if got, err := bundleDir("/flag"); got != "/flag" || err != nil {
		t.Errorf("with the flag: %q, %v", got, err)
	}
	if got, err := bundleDir(""); got != "/cache/bundles" || err != nil {
		t.Errorf("with $CLUSTERCTL_CACHE: %q, %v", got, err)
	}
	t.Setenv("CLUSTERCTL_CACHE", "")
	if got, err := bundleDir(""); got != "/home/cache/clusterctl/bundles" || err != nil {
		t.Errorf("with neither: %q, %v", got, err)
	}
}

func TestSourceRootIsTheNearestAbove(t *testing.T) {
	root := t.TempDir()
	deep := filepath.Join(root, "phases", "plan")
	if err := errors.Join(os.MkdirAll(filepath.Join(root, "components/kubernetes/build"), 0o755), os.MkdirAll(deep, 0o755)); err != nil {
		t.Fatal(err)
	}
	t.Chdir(deep)
	if got, err := sourceRoot(""); got != root || err != nil {
		t.Errorf("sourceRoot = %q, %v; want %q", got, err, root)
	}
	t.Chdir(t.TempDir())
	if _, err := sourceRoot(""); !errors.As(err, new(*UsageError)) {
		t.Errorf("outside of a checkout: %v", err)
	}
}
