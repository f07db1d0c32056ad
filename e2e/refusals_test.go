//go:build e2e

package e2e

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestRefusals is what the program says no to before anything is touched.
func TestRefusals(t *testing.T) {
	text, err := os.ReadFile("../examples/local.yaml")
	if err != nil {
		t.Fatal(err)
	}
	example := replace(t, string(text), "\n  name: local\n", "\n  name: e2e-refused\n")
	for name, tt := range map[string]struct {
		spec string
		args []string
		env  []string
		user uint32
		code int
		says []string
	}{
		"UnknownField": {
			spec: replace(t, example, "controlPlane:", "controlPlanes:"), args: []string{"up", "--yes"}, code: 3,
			says: []string{"cluster.yaml:", "controlPlanes", "controlPlane"},
		},
		"VersionThatYAMLReadsAsANumber": {
			spec: replace(t, example, "version: "+kubernetesVersion, "version: 1.30"), args: []string{"plan"}, code: 3,
			says: []string{"cluster.yaml:", "spec.kubernetes.version", "1.30"},
		},
		"VersionThatIsNotBuilt": {
			spec: replace(t, example, "version: "+kubernetesVersion, "version: v1.29.0"), args: []string{"plan"}, code: 3,
			says: []string{"v1.29.0", kubernetesVersion},
		},
		"ArgumentThatTheToolOwns": {
			spec: replace(t, example, "    version: "+kubernetesVersion+"\n", "    version: "+kubernetesVersion+"\n    apiServerArgs:\n      secure-port: \"8443\"\n"),
			args: []string{"up", "--yes"}, code: 3, says: []string{"apiServerArgs[secure-port]", "itself"},
		},
		"NoBundle": {
			spec: example, args: []string{"up", "--yes"}, env: []string{"CLUSTERCTL_CACHE=" + t.TempDir()}, code: 1,
			says: []string{"clusterctl bundle build --kubernetes " + kubernetesVersion},
		},
		"NobodyToAsk": {
			spec: example, args: []string{"up"}, code: 3, says: []string{"--yes"},
		},
		"StatusOfNothing": {
			spec: example, args: []string{"status"}, code: 1, says: []string{"has no state in", "clusterctl up"},
		},
		"UnknownHost": {
			spec: example, args: []string{"ssh", "--", "nowhere", "true"}, code: 3, says: []string{"nowhere", "e2e-refused-cp-1"},
		},
		"UnknownPhase": {
			spec: example, args: []string{"up", "--yes", "--phase", "everything"}, code: 3, says: []string{"everything", "apiserver"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "cluster.yaml")
			if err := os.WriteFile(path, []byte(tt.spec), 0o644); err != nil {
				t.Fatal(err)
			}
			args := append([]string{tt.args[0], path}, tt.args[1:]...)
			command{args: args, env: tt.env, user: tt.user}.run(t).exits(t, tt.code).says(t, tt.says...)
			if _, err := os.Stat(filepath.Join(dir, ".clusterctl")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a refused command left state: %v", err)
			}
		})
	}
	t.Run("NotRoot", func(t *testing.T) { onlyRootMakesHosts(t, example) })
}

// onlyRootMakesHosts runs the program as nobody, in a directory of nobody's own.
func onlyRootMakesHosts(t *testing.T, text string) {
	const nobody = 65534
	dir, err := os.MkdirTemp("", "clusterctl-nobody-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "cluster.yaml")
	if err := errors.Join(os.WriteFile(path, []byte(text), 0o644), os.Chown(dir, nobody, nobody)); err != nil {
		t.Fatal(err)
	}
	program := shared.program
	defer func() { shared.program = program }()
	shared.program = filepath.Join(dir, "clusterctl") // the checkout may be closed to nobody
	data, err := os.ReadFile(program)
	if err == nil {
		err = os.WriteFile(shared.program, data, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	bundles := filepath.Join(dir, "bundles") // so may be the cache: the bundle's manifest is all that is read
	name := kubernetesVersion + "-linux-amd64"
	manifest, err := os.ReadFile(filepath.Join(shared.cache, "bundles", name, "manifest.json"))
	if err == nil {
		err = errors.Join(os.MkdirAll(filepath.Join(bundles, name), 0o755), os.WriteFile(filepath.Join(bundles, name, "manifest.json"), manifest, 0o644))
	}
	if err != nil {
		t.Fatal(err)
	}
	r := command{args: []string{"up", path, "--yes", "--bundle-dir", bundles}, user: nobody}.run(t)
	r.exits(t, 1).says(t, "need root", "sudo")
}
