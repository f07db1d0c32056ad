//go:build e2e

package cloud

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"clusterctl/phases/state/bucket/buckettest"
	"clusterctl/provision"
	"clusterctl/provision/cloud/engine"
	"clusterctl/provision/cloud/standin"
	"clusterctl/provision/event"
	"clusterctl/provision/spec"
)

// TestStateInABucket keeps the engine's state on an S3 server. A run that was killed leaves a lock there:
// the next run on its machine clears it, one of another machine stays until somebody unlocks it, and a
// live one stays always.
func TestStateInABucket(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	server := buckettest.Start(t, "../../phases/state/bucket/testserver")
	backend := "backend: 's3://" + buckettest.Bucket + "/engine?region=us-east-1&endpoint=" + strings.TrimPrefix(server, "http://") + "&disableSSL=true&s3ForcePathStyle=true'"
	b := newBench(t, awsCase())
	s := b.cluster(1, 1, backend)

	b.faults(map[string]standin.Fault{"create dev-web-1": standin.Slow})
	done := make(chan error)
	go func() { _, err := b.Ensure(context.WithoutCancel(t.Context()), s, event.Discard); done <- err }()
	b.started("create "+b.of.machine+" dev-web-1", done)
	held := b.locks(s)
	if len(held) != 1 {
		t.Fatalf("while a run goes on the state is locked by %v", held)
	}
	b.wantLocked(s, "process")
	if _, ok := errors.AsType[*engine.LockedError](b.Unlock(t.Context(), s, held)); !ok {
		t.Error("a run that goes on lost its lock")
	}
	kill(t, held[0].PID)
	if err := <-done; err == nil {
		t.Error("the engine was killed and nobody minded")
	}
	b.release()
	b.faults(nil)
	b.waitFor("dev-web-1")
	b.ensure(s)
	b.wantMachines("dev-cp-1", "dev-web-1")

	other := server + "/" + buckettest.Bucket + "/engine/.pulumi/locks/organization/clusterctl/dev/other.json"
	lock, err := json.Marshal(engine.Owner{PID: 4711, Username: "jo", Hostname: "elsewhere.example", Timestamp: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	put(t, other, lock)
	b.wantLocked(b.cluster(1, 2, backend), "jo@elsewhere.example (process 4711)")
	if _, ok := errors.AsType[*engine.LockedError](b.Unlock(t.Context(), s, held)); !ok {
		t.Error("a lock went that nobody was shown")
	}
	if err := b.Unlock(t.Context(), s, b.locks(s)); err != nil {
		t.Fatal(err)
	}
	if left := b.locks(s); len(left) > 0 {
		t.Errorf("unlocked, and locked by %v", left)
	}
	if plan := b.changes(s); len(plan) > 0 {
		t.Errorf("plan: %q", plan)
	}
	b.elsewhere(t, s)
	if err := b.Destroy(t.Context(), s, event.Discard); err != nil {
		t.Fatal(err)
	}
	b.wantMachines()
}

// elsewhere has another machine plan as a pipeline would: with the passphrase in its environment, the login
// key and the known host keys, and nothing else of the state directory.
func (b *bench) elsewhere(t *testing.T, s *spec.Cluster) {
	there := *b.Provider
	there.opts.StateDir = t.TempDir()
	passphrase, err := os.ReadFile(filepath.Join(b.dir, "state", "pulumi", "passphrase"))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PULUMI_CONFIG_PASSPHRASE", strings.TrimSpace(string(passphrase)))
	for _, name := range []string{"ssh/id_ed25519", "ssh/known_hosts"} {
		data, err := os.ReadFile(filepath.Join(b.dir, "state", name))
		path := filepath.Join(there.opts.StateDir, name)
		if err := errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	changes, err := there.Preview(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		if c.Verb != provision.Keep {
			t.Errorf("another machine would %s %s %s %s", c.Verb, c.Kind, c.Name, c.Detail)
		}
	}
}

func (b *bench) locks(s *spec.Cluster) []provision.Lock {
	b.t.Helper()
	locks, err := b.Locks(b.t.Context(), s)
	if err != nil {
		b.t.Fatal(err)
	}
	return locks
}

func (b *bench) wantLocked(s *spec.Cluster, by string) {
	b.t.Helper()
	_, err := b.Ensure(b.t.Context(), s, event.Discard)
	if locked, ok := errors.AsType[*engine.LockedError](err); !ok || locked.ExitCode() != 5 || !strings.Contains(err.Error(), by) {
		b.t.Errorf("got %v, want the lock of %s", err, by)
	}
}

func put(t *testing.T, url string, data []byte) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, url, bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("PUT %s: %s", url, answer.Status)
	}
}
