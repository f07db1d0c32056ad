package state

import (
	"os"
	"path/filepath"
	"testing"
)

func TestABackupHasItsNameOnlyWhenItIsWhole(t *testing.T) {
	d := Open(filepath.Join(t.TempDir(), "cluster.yaml"), "dev")
	dir := filepath.Join(d.Path(), "backups")
	for _, keep := range []bool{false, true} {
		b, err := d.NewBackup("etcd-1.db")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Write([]byte("data")); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(dir, "etcd-1.db")); err == nil {
			t.Fatal("an unfinished backup has its name")
		}
		if !keep {
			if err := b.Discard(); err != nil {
				t.Fatal(err)
			}
			continue
		}
		path, err := b.Commit(map[string]string{"sha256": "x"})
		if err != nil || path != filepath.Join(dir, "etcd-1.db") {
			t.Fatalf("path %s, %v", path, err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Fatalf("files %v, %v: want the backup and what is said of it", entries, err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, %v", e.Name(), info.Mode(), err)
		}
	}
	if _, err := d.NewBackup("../x"); err == nil {
		t.Error("a backup may leave its directory")
	}
}
