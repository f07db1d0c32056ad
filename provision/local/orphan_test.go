package local

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// process writes what /proc shows of one.
func process(t *testing.T, proc, pid, parent, open string, args ...string) {
	t.Helper()
	dir := filepath.Join(proc, pid)
	if err := os.MkdirAll(filepath.Join(dir, "fd"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"cmdline": strings.Join(args, "\x00") + "\x00", "status": "Name:\tx\nPPid:\t" + parent + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(open, filepath.Join(dir, "fd", "3")); err != nil {
		t.Fatal(err)
	}
}

func TestOnlyInitsThatRuncLeftBehindAreOrphans(t *testing.T) {
	proc := t.TempDir()
	const claimed = "/var/lib/clusterctl/local/dev"
	process(t, proc, "1", "0", "/dev/null", "/sbin/init")
	process(t, proc, "20", "1", claimed, "/bundle/runc", "init")      // left behind
	process(t, proc, "30", "1", claimed, "/bundle/runc", "run", "x")  // at work
	process(t, proc, "31", "30", claimed, "/bundle/runc", "init")     // its own
	process(t, proc, "40", "1", "/elsewhere", "/bundle/runc", "init") // of another cluster
	process(t, proc, "50", "1", claimed, "/usr/bin/clusterctl", "up") // another run
	if got := orphanedInits(proc, claimed); !slices.Equal(got, []int{20}) {
		t.Errorf("orphans %v, want 20 alone", got)
	}
}
