//go:build e2e

package e2e

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"clusterctl/components/bundle"
	"clusterctl/provision/cloud/standin"
)

// kubernetesVersion is what the examples name.
const kubernetesVersion = "v1.37.2"

// setup is what all tests share.
type setup struct {
	program  string // the program under test
	cache    string // bundles and base trees
	runc     string // the bundle's own, for hosts that a test makes itself
	work     string // specs and state; emptied when all tests passed
	failures string // what was collected of clusters that failed
}

// shared is written by TestMain only.
var shared setup

// TestMain is also the stand-in for a cloud's plugin: Pulumi's engine runs this program under its name.
func TestMain(m *testing.M) {
	standin.Main()
	var err error
	if shared, err = prepare(); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		os.Exit(1)
	}
	code := m.Run()
	if code == 0 {
		if err := os.RemoveAll(shared.work); err != nil {
			fmt.Fprintln(os.Stderr, "e2e:", err)
			code = 1
		}
	} else {
		fmt.Printf("e2e: specs, states and the log of all commands are in %s\n", shared.work)
	}
	if _, err := os.Stat(shared.failures); err == nil {
		fmt.Printf("e2e: journals and units of the failed clusters' hosts are in %s\n", shared.failures)
	}
	os.Exit(code)
}

// prepare finds what the tests need and says what is missing.
func prepare() (setup, error) {
	if os.Geteuid() != 0 {
		return setup{}, errors.New("local hosts need root")
	}
	// The directory has a fixed name, so that the next run finds the clusters of one that was killed.
	s := setup{work: filepath.Join(os.TempDir(), "clusterctl-e2e"), failures: filepath.Join(os.TempDir(), "clusterctl-e2e-failures")}
	var err error
	if s.program, err = filepath.Abs(cmp.Or(os.Getenv("CLUSTERCTL_BIN"), "../bin/clusterctl")); err != nil {
		return setup{}, err
	}
	if _, err := os.Stat(s.program); err != nil {
		return setup{}, fmt.Errorf("%w; run: make build", err)
	}
	if s.cache, err = cacheDir(); err != nil {
		return setup{}, err
	}
	b, err := bundle.Open(filepath.Join(s.cache, "bundles"), kubernetesVersion, "linux", "amd64")
	if err != nil {
		return setup{}, err
	}
	runc, ok := b.Artifact("runc")
	if !ok {
		return setup{}, errors.New("the bundle has no runc; run: make bundle")
	}
	s.runc = b.Path(runc)
	if err := lock(s.work + ".lock"); err != nil {
		return setup{}, err
	}
	if err := os.RemoveAll(s.failures); err != nil {
		return setup{}, err
	}
	return s, os.MkdirAll(s.work, 0o755)
}

// lock keeps two runs apart, which would take each other's clusters for left-overs. The kernel
// takes the lock away with this process.
func lock(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return fmt.Errorf("another run of these tests holds %s: wait for it to end", path)
	}
	held = f
	return err
}

// held keeps the lock's file from being closed by the garbage collector.
var held *os.File

func cacheDir() (string, error) {
	if dir := os.Getenv("CLUSTERCTL_CACHE"); dir != "" {
		return dir, nil
	}
	dir, err := os.UserCacheDir()
	return filepath.Join(dir, "clusterctl"), err
}
