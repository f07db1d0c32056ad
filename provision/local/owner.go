package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// owner is the record, beside a cluster's disks, of whose they are. Two specs may use one cluster
// name, and hosts, network and cgroups carry that name.
type owner struct {
	StateDir string `json:"stateDir"`
	Subnet   string `json:"subnet"`
}

// lockGrace is how long a claim waits for its holder: long enough for a runc whose clusterctl was
// killed, not for a clusterctl at work.
const lockGrace = 5 * time.Second

// claim is the right to change a cluster's hosts: a kernel lock on its directory.
type claim struct{ dir *os.File }

// release ends the claim.
func (c claim) release() { c.dir.Close() }

func (p *Provider) clusterDir(l layout) string { return filepath.Join(dataDir, l.cluster) }
func (p *Provider) ownerPath(l layout) string  { return filepath.Join(p.clusterDir(l), "owner") }

// create makes a cluster's directory when it is missing, claims it, and records whose it is.
func (p *Provider) create(ctx context.Context, l layout) (claim, error) {
	if err := os.MkdirAll(dataDir, 0o755); err != nil {
		return claim{}, fmt.Errorf("make the directory of local clusters: %w", err)
	}
	if err := os.Mkdir(p.clusterDir(l), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return claim{}, fmt.Errorf("make the directory of cluster %s: %w", l.cluster, err)
	}
	c, err := p.claim(ctx, l)
	if err != nil {
		return claim{}, err
	}
	if err := p.recordOwner(l); err != nil {
		c.release()
		return claim{}, err
	}
	return c, nil
}

// claim locks a cluster's directory. The error is fs.ErrNotExist when there is no such cluster.
func (p *Provider) claim(ctx context.Context, l layout) (claim, error) {
	c, err := lockDir(ctx, p.clusterDir(l))
	if err != nil {
		return claim{}, fmt.Errorf("claim the hosts of cluster %s: %w", l.cluster, err)
	}
	if err := p.checkOwner(l); err != nil {
		c.release()
		return claim{}, err
	}
	return c, nil
}

// lockDir locks a directory and makes sure that it is still the one of that name: a destroyer
// removes it while it holds the lock.
func lockDir(ctx context.Context, dir string) (claim, error) {
	f, err := os.Open(dir)
	if err != nil {
		return claim{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, lockGrace, fmt.Errorf("%w; wait for the other clusterctl to end", errLocked))
	defer cancel()
	if err := awaitLock(ctx, f, func() { killOrphans(dir) }); err != nil {
		return claim{}, errors.Join(err, f.Close())
	}
	mine, err := f.Stat()
	if err != nil {
		return claim{}, errors.Join(err, f.Close())
	}
	now, err := os.Stat(dir)
	if err != nil || !os.SameFile(mine, now) {
		return claim{}, errors.Join(errors.New("the cluster was destroyed at the same time; run the command again"), f.Close())
	}
	return claim{f}, nil
}

// recordOwner writes the record unless there is one.
func (p *Provider) recordOwner(l layout) error {
	have, err := p.readOwner(l)
	if err != nil || have != (owner{}) {
		return err
	}
	data, err := json.Marshal(owner{p.opts.StateDir, l.subnet.String()})
	if err != nil {
		return fmt.Errorf("record the owner of cluster %s: %w", l.cluster, err)
	}
	return writeFile(p.ownerPath(l), append(data, '\n'), 0o600)
}

// checkOwner refuses a cluster that is another's.
func (p *Provider) checkOwner(l layout) error {
	have, err := p.readOwner(l)
	if err != nil || have == (owner{}) || have.StateDir == p.opts.StateDir {
		return err
	}
	return fmt.Errorf("local cluster %s belongs to the state directory %s, not to %s; use its spec, or give this one another metadata.name",
		l.cluster, have.StateDir, p.opts.StateDir)
}

// checkSubnet refuses to move a cluster to another subnet: its hosts keep their addresses.
func (p *Provider) checkSubnet(l layout) error {
	have, err := p.readOwner(l)
	if err != nil || have == (owner{}) || have.Subnet == l.subnet.String() {
		return err
	}
	return fmt.Errorf("the hosts of cluster %s were made on subnet %s and spec.provider.local.subnet says %s; put %[2]s back, or run clusterctl down first",
		l.cluster, have.Subnet, l.subnet)
}

// readOwner reads the record; without one it is empty.
func (p *Provider) readOwner(l layout) (owner, error) {
	var o owner
	data, err := os.ReadFile(p.ownerPath(l))
	if errors.Is(err, fs.ErrNotExist) {
		return o, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &o)
	}
	if errors.Is(err, fs.ErrPermission) {
		return o, errNotRoot
	}
	if err != nil {
		return o, fmt.Errorf("read the owner of cluster %s: %w", l.cluster, err)
	}
	return o, nil
}
