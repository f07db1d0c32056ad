package arguments_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"clusterctl/phases/arguments"
)

// program is a script that plays a component: it knows --good and refuses others as the name it
// is started by would.
func program(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	script := `#!/bin/sh
for a; do
  case $a in
    --version) echo "Kubernetes v1.99.0" ;;
    --good=*) ;;
    --feature-gates=*) echo "E1201 run.go:72] \"command failed\" err=\"unrecognized feature gate: ${a#*=}\"" >&2; exit 1 ;;
    *) echo "usage" >&2; echo "Error: unknown flag: ${a%%=*}" >&2; exit 1 ;;
  esac
done
`
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestEveryUnknownArgumentIsNamedWithItsComponentAndVersion(t *testing.T) {
	v := arguments.Vector{Component: "kubelet", Program: program(t), Version: "v1.99.0", Field: "spec.kubernetes.kubeletArgs"}
	v.Own = []string{"--container-runtime=remote", "--good=1", "--feature-gates=BlockVolume=true"}
	v.Args = append([]string{"--good=0"}, v.Own...)
	err := arguments.Check(t.Context(), []arguments.Vector{v})
	unknown, ok := errors.AsType[*arguments.UnknownError](err)
	want := []string{
		"spec.kubernetes.kubeletArgs: kubelet v1.99.0 does not take --container-runtime=remote: unknown flag: --container-runtime",
		"spec.kubernetes.kubeletArgs: kubelet v1.99.0 does not take --feature-gates=BlockVolume=true: unrecognized feature gate: BlockVolume=true",
	}
	if !ok || unknown.ExitCode() != 3 || !slices.Equal(unknown.Reasons, want) {
		t.Errorf("error %v", err)
	}
}

func TestKnownArgumentsAreFine(t *testing.T) {
	v := arguments.Vector{Component: "kubelet", Program: program(t), Args: []string{"--good=1"}}
	if err := arguments.Check(t.Context(), []arguments.Vector{v, v, v}); err != nil {
		t.Error(err)
	}
}

func TestAProgramThatCannotBeStartedIsNoAnswer(t *testing.T) {
	err := arguments.Check(t.Context(), []arguments.Vector{{Component: "etcd", Program: "/nonexistent/etcd"}})
	if _, ok := errors.AsType[*arguments.UnknownError](err); err == nil || ok || !strings.Contains(err.Error(), "ask etcd") {
		t.Errorf("error %v", err)
	}
}
