package local

import (
	"bytes"
	"encoding/json"
	"testing"

	"clusterctl/e2e/golden"
)

// The configuration is the same on cgroup v1 and v2; what a machine may lack is a capability (a
// CI runner without CAP_SYS_RESOURCE) and kernel modules.
func TestOCIConfig(t *testing.T) {
	c := container{hostname: "dev-cp-1", netns: "/run/netns/cc-12345678-dev-cp-1", cgroupPath: "/clusterctl/dev/dev-cp-1", dir: "/disk"}
	for name, m := range map[string]machine{
		"full":                 {capabilities: []string{"CAP_CHOWN", "CAP_SYS_ADMIN", "CAP_SYS_RESOURCE"}, modules: true},
		"without-sys-resource": {capabilities: []string{"CAP_CHOWN", "CAP_SYS_ADMIN"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := json.MarshalIndent(ociConfig(c, m), "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden.Check(t, "testdata/"+name+".json", string(got)+"\n")
			if bytes.Contains(got, []byte("rlimits")) || bytes.Contains(got, []byte("seccomp")) || bytes.Contains(got, []byte("maskedPaths")) {
				t.Error("the host is restricted")
			}
		})
	}
}
