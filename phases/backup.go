package phases

import (
	"context"
	"errors"
	"fmt"
	"time"

	"clusterctl/phases/etcdapi"
	"clusterctl/phases/state"
	"clusterctl/pki"
	"clusterctl/provision/event"
)

// backupTimeout is for a database as large as the largest quota on a slow link.
const backupTimeout = 30 * time.Minute

// BackupRecord is what stands beside a backup: what it is, and which keys are needed to read it.
type BackupRecord struct {
	etcdapi.Snapshot
	Cluster    string            `json:"cluster"`
	ClusterUID string            `json:"clusterUID"`
	Taken      time.Time         `json:"taken"`
	Kubernetes string            `json:"kubernetes"` // version of the API servers that wrote it, where they ran
	Encryption string            `json:"encryption"` // name of the key that Secrets are encrypted with
	Keys       []pki.Fingerprint `json:"keys"`       // authorities and the service-account key
}

// BackUp keeps a snapshot of etcd in the state directory and gives its path. It takes the first
// member that can give one.
func BackUp(ctx context.Context, e *Env, dir *state.Dir, to event.Sink) (path string, err error) {
	began := time.Now()
	to.Emit(event.Event{Time: began, Kind: event.PhaseStart, Phase: "backup", Text: "etcd's data, before anything is changed"})
	defer func() {
		to.Emit(event.Event{Time: time.Now(), Kind: event.PhaseEnd, Phase: "backup", Text: path, Took: time.Since(began), Err: err})
	}()
	ctx, cancel := context.WithTimeout(ctx, backupTimeout)
	defer cancel()
	var errs []error
	for _, h := range e.Cluster.Inventory.ControlPlanes() {
		path, err := backUp(ctx, e, dir, h.Name, began.UTC())
		if err == nil {
			return path, nil
		}
		errs = append(errs, at(h.Name, err))
		if ctx.Err() != nil {
			break
		}
	}
	return "", fmt.Errorf("back up etcd: %w", errors.Join(errs...))
}

func backUp(ctx context.Context, e *Env, dir *state.Dir, name string, now time.Time) (string, error) {
	if _, err := e.EtcdMember(ctx, name); err != nil {
		return "", err
	}
	h, err := e.Hosts.Get(name)
	if err != nil {
		return "", err
	}
	cred, err := e.etcdCredentials(name)
	if err != nil {
		return "", err
	}
	b, err := dir.NewBackup("etcd-" + now.Format("20060102T150405Z") + ".db")
	if err != nil {
		return "", err
	}
	snap, err := etcdapi.Save(ctx, name, h.Dial, cred, b)
	if err != nil {
		return "", errors.Join(err, b.Discard())
	}
	c := e.Cluster
	record := BackupRecord{Snapshot: snap, Cluster: c.Spec.Metadata.Name, ClusterUID: c.Secrets.ClusterUID(), Taken: now,
		Kubernetes: c.Running[name]["kube-apiserver"], Encryption: c.Secrets.Encryption().Name}
	for _, f := range c.Secrets.Fingerprints() {
		if f.Host == "" && (f.Name == pki.ServiceAccountName || isAuthority(f.Name)) {
			record.Keys = append(record.Keys, f)
		}
	}
	return b.Commit(record)
}

func isAuthority(name string) bool {
	for _, a := range pki.Authorities() {
		if string(a) == name {
			return true
		}
	}
	return false
}
