package bundle

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// store is the directory that holds all bundles of a machine:
//
//	blobs/sha256/<hex>              artifacts, shared by all bundles
//	<version>-<os>-<arch>/          manifest.json and sbom.cdx.json
//	builds/<key>.json, .lock        which inputs gave which blob
//	tmp/<key>/                      a build in progress
//
// A file gets its final name by rename after its content is on disk, so a
// killed builder leaves nothing half written under a final name.
type store string

func (s store) blob(sha string) string     { return filepath.Join(string(s), "blobs", "sha256", sha) }
func (s store) record(key string) string   { return filepath.Join(string(s), "builds", key+".json") }
func (s store) scratch(key string) string  { return filepath.Join(string(s), "tmp", key) }
func (s store) bundle(name string) string  { return filepath.Join(string(s), name) }
func (s store) lockfile(key string) string { return filepath.Join(string(s), "builds", key+".lock") }

// lock waits until no other process builds key. The kernel ends the lock with
// its holder, however that dies.
func (s store) lock(ctx context.Context, key string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Join(string(s), "builds"), 0o755); err != nil {
		return nil, fmt.Errorf("make the bundle store: %w", err)
	}
	l := flock.New(s.lockfile(key))
	if _, err := l.TryLockContext(ctx, 100*time.Millisecond); err != nil {
		return nil, fmt.Errorf("lock the build %s: %w", key, err)
	}
	return func() { l.Close() }, nil
}

// add moves a finished file into the store and gives its digest and size.
func (s store) add(path string, mode os.FileMode) (sha string, size int64, err error) {
	sha, size, err = digest(path)
	if err != nil {
		return "", 0, err
	}
	if err := os.Chmod(path, mode); err != nil {
		return "", 0, err
	}
	if err := syncFile(path); err != nil {
		return "", 0, err
	}
	final := s.blob(sha)
	if err := os.MkdirAll(filepath.Dir(final), 0o755); err != nil {
		return "", 0, fmt.Errorf("make the bundle store: %w", err)
	}
	if err := os.Rename(path, final); err != nil {
		return "", 0, fmt.Errorf("store %s: %w", filepath.Base(path), err)
	}
	return sha, size, syncFile(filepath.Dir(final))
}

// holds checks that a blob is there and has its content.
func (s store) holds(sha string, size int64) error {
	got, n, err := digest(s.blob(sha))
	switch {
	case err != nil:
		return err
	case n != size:
		return fmt.Errorf("blob %s has %d bytes, want %d", sha, n, size)
	case got != sha:
		return fmt.Errorf("blob %s has the digest %s", sha, got)
	}
	return nil
}

func digest(path string) (sha string, size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	size, err = io.Copy(h, f)
	if err != nil {
		return "", 0, fmt.Errorf("read %s: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), size, nil
}

func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// writeFile gives path its new content in one step.
func writeFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // gone after the rename
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return syncFile(filepath.Dir(path))
}

// encode gives the one JSON form of v: equal values, equal bytes.
func encode(v any) ([]byte, error) {
	data, err := json.MarshalIndent(v, "", "  ")
	return append(data, '\n'), err
}
