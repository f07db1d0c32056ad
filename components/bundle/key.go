package bundle

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"clusterctl/components/release"
)

// recipe changes when this package makes another file of the same inputs.
const recipe = "1"

// buildKey names everything that a build's result depends on: the nested
// module's sources (go.sum holds the digests of all others), the artifact's
// description, the tools and the target.
func buildKey(dir string, a release.Artifact, tools []string, goos, goarch string) (string, error) {
	h := sha256.New()
	description, err := json.Marshal(a)
	if err != nil {
		return "", err
	}
	for _, part := range append([]string{recipe, goos, goarch, string(description)}, tools...) {
		fmt.Fprintf(h, "%d %s\n", len(part), part)
	}
	if err := hashSources(h, dir); err != nil {
		return "", fmt.Errorf("read the module %s: %w", dir, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func hashSources(h io.Writer, dir string) error {
	var files []string
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name := entry.Name()
		if strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") || name == "go.mod" || name == "go.sum" {
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		return err
	}
	slices.Sort(files)
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%s %d\n", filepath.ToSlash(relative), len(data))
		if _, err := h.Write(data); err != nil {
			return err
		}
	}
	return nil
}
