// Package localtest finds what tests need to make local hosts.
package localtest

import (
	"os"
	"path/filepath"
	"testing"

	"clusterctl/components/bundle"
	"clusterctl/components/release"
)

// Tools gives the cache directory and the bundle's runc, as the clusterctl program finds them. A
// bundle that is not built fails the test: make e2e builds it first.
func Tools(t testing.TB) (cache, runc string) {
	t.Helper()
	cache = os.Getenv("CLUSTERCTL_CACHE")
	if cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		cache = filepath.Join(dir, "clusterctl")
	}
	b, err := bundle.Open(filepath.Join(cache, "bundles"), release.Supported()[0], "linux", "amd64")
	if err != nil {
		t.Fatal(err)
	}
	a, ok := b.Artifact("runc")
	if !ok {
		t.Fatal("the bundle has no runc")
	}
	return cache, b.Path(a)
}
