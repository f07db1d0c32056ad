package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"clusterctl/provision/inventory"
)

// TestShellThroughABastionKnowsItsKeyAndHosts has the real ssh say what it would do.
func TestShellThroughABastionKnowsItsKeyAndHosts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "it's 100% mine")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	known := filepath.Join(dir, "known hosts")
	h := inventory.SSH{Address: "10.0.0.9", Port: 2201, User: "ops", KeyPath: filepath.Join(dir, "key"), KnownHostsPath: known,
		Bastion: &inventory.SSH{Address: "192.0.2.1", Port: 2222, User: "jump", KeyPath: filepath.Join(dir, "jump key"), KnownHostsPath: known}}
	out, err := exec.Command("ssh", append([]string{"-G"}, shellArgs(h)...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"port 2201", "user ops", "hostname 10.0.0.9", "userknownhostsfile " + known, "'jump'", "'2222'", "jump key", "-W' '[%h]:%p"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("ssh does not know %q:\n%s", want, out)
		}
	}
}
