package local

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"clusterctl/provision"
	"clusterctl/provision/event"
)

// WithPrograms gives the same provider, whose new hosts have these programs. Hosts that exist
// keep what they have.
func (p *Provider) WithPrograms(programs []provision.Program) *Provider {
	opts := p.opts
	opts.programs = programs
	return &Provider{opts}
}

// ensureLayers makes the read-only trees that new hosts stand on unless the cache has them, and
// returns their paths, the upper first.
func (p *Provider) ensureLayers(ctx context.Context, to event.Sink) ([]string, error) {
	base, err := p.ensureBase(ctx, to)
	if err != nil || len(p.opts.programs) == 0 {
		return []string{base}, err
	}
	programs, err := p.ensurePrograms(ctx, to)
	if err != nil {
		return nil, fmt.Errorf("make the tree of programs for local hosts: %w", err)
	}
	return []string{programs, base}, nil
}

// ensurePrograms makes the tree of programs. It appears under its name only when it is whole.
func (p *Provider) ensurePrograms(ctx context.Context, to event.Sink) (string, error) {
	dir := filepath.Join(p.opts.CacheDir, "programs")
	path := filepath.Join(dir, programsName(p.opts.programs))
	if isDir(path) {
		return path, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	lock, err := waitLock(ctx, filepath.Join(dir, "lock"), func() { note(to, "", "waiting for another clusterctl that makes the tree of programs") })
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if isDir(path) { // another made it
		return path, nil
	}
	tmp := filepath.Join(dir, "tmp") // of an interrupted maker, or ours: the lock is held
	if err := os.RemoveAll(tmp); err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp) // nothing is there any more after the rename
	for _, program := range p.opts.programs {
		if err := place(program, tmp); err != nil {
			return "", fmt.Errorf("place %s: %w", program.Path, err)
		}
	}
	return path, os.Rename(tmp, path)
}

// programsName names a tree by all that is in it.
func programsName(programs []provision.Program) string {
	sum := sha256.New()
	for _, p := range programs {
		fmt.Fprintf(sum, "%s %o %s\n", p.Path, p.Mode, p.SHA256)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// place puts a program into a tree: by a second name for the same file where that can be, since
// nobody writes to a lower layer, else as a copy.
func place(p provision.Program, tree string) error {
	path := filepath.Join(tree, p.Path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if info, err := os.Stat(p.Source); err == nil && info.Mode().Perm() == p.Mode {
		if os.Link(p.Source, path) == nil {
			return nil
		}
	}
	return copyTo(p, path)
}

func copyTo(p provision.Program, path string) (err error) {
	from, err := os.Open(p.Source)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	if _, err := io.Copy(to, from); err != nil {
		return err
	}
	if err := to.Sync(); err != nil { // a tree that is found later is whole
		return err
	}
	return to.Chmod(p.Mode)
}
