package state

import (
	"crypto/rand"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"clusterctl/pki"
	"clusterctl/provision/event"
	"clusterctl/provision/inventory"
)

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func openTemp(t *testing.T) *Dir {
	t.Helper()
	return Open(filepath.Join(t.TempDir(), "dev.yaml"), "dev")
}

func newSecrets(t *testing.T) *pki.Secrets {
	t.Helper()
	s, err := pki.New(pki.Options{Cluster: "dev"}, noon, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// umask sets the process's umask for one test.
func umask(t *testing.T, mask int) {
	t.Helper()
	old := syscall.Umask(mask)
	t.Cleanup(func() { syscall.Umask(old) })
}

// tree lists all paths below dir with modes.
func tree(t *testing.T, dir string) map[string]os.FileMode {
	t.Helper()
	out := map[string]os.FileMode{}
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		out[rel] = info.Mode().Perm()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	delete(out, ".")
	return out
}

func TestReadingCreatesNothing(t *testing.T) {
	d := openTemp(t)
	if d.Exists() {
		t.Error("exists")
	}
	if s, ok, err := d.Secrets(); s != nil || ok || err != nil {
		t.Errorf("Secrets: %v %v", ok, err)
	}
	if _, ok, err := d.Inventory(); ok || err != nil {
		t.Errorf("Inventory: %v %v", ok, err)
	}
	if _, ok, err := d.Identity(); ok || err != nil {
		t.Errorf("Identity: %v %v", ok, err)
	}
	j, err := d.Journal()
	if err != nil {
		t.Fatal(err)
	}
	if _, ok, err := j.LastRun(); ok || err != nil {
		t.Errorf("LastRun: %v %v", ok, err)
	}
	if list, err := d.Loose(); len(list) != 0 || err != nil {
		t.Errorf("Loose: %v %v", list, err)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	if got := tree(t, filepath.Dir(filepath.Dir(filepath.Dir(d.Path())))); len(got) != 1 {
		t.Errorf("reading left %v", got)
	}
}

func TestEverythingIsCreatedPrivateWhateverTheUmask(t *testing.T) {
	for _, mask := range []int{0, 0o022, 0o777} {
		d := openTemp(t)
		umask(t, mask)
		fillDir(t, d)
		unlock, err := d.LockLocal(t.Context(), Holder{PID: 1})
		if err != nil {
			t.Fatal(err)
		}
		unlock()
		want := map[string]os.FileMode{
			".clusterctl": 0o700, ".clusterctl/.gitignore": 0o600, ".clusterctl/dev": 0o700, ".clusterctl/dev/secrets": 0o600,
			".clusterctl/dev/inventory.json": 0o600, ".clusterctl/dev/identity.json": 0o600,
			".clusterctl/dev/journal.jsonl": 0o600, ".clusterctl/dev/lock": 0o600, ".clusterctl/dev/admin.kubeconfig": 0o600,
		}
		if got := tree(t, filepath.Dir(filepath.Dir(d.Path()))); !reflect.DeepEqual(got, want) {
			t.Errorf("umask %04o: %v", mask, got)
		}
	}
}

// fillDir writes one of each.
func fillDir(t *testing.T, d *Dir) {
	t.Helper()
	j, err := d.Journal()
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	_, kubeErr := d.WriteKubeconfig("admin", []byte("x"))
	for _, err := range []error{
		d.SaveSecrets(newSecrets(t)), d.SaveInventory(inventory.Inventory{}), d.SaveIdentity(Identity{Name: "dev"}),
		j.Begin(noon, "r1", "up"), kubeErr,
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestLooserModesAreTightenedAndReported(t *testing.T) {
	d := openTemp(t)
	fillDir(t, d)
	for path, mode := range map[string]os.FileMode{"": 0o755, "secrets": 0o644, "admin.kubeconfig": 0o644, "journal.jsonl": 0o666} {
		if err := os.Chmod(d.file(path), mode); err != nil {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex
	var heard []string
	d.Events = event.Func(func(e event.Event) {
		mu.Lock()
		defer mu.Unlock()
		heard = append(heard, strings.TrimPrefix(e.Text, d.Path()))
	})
	list, err := d.Loose()
	if err != nil || len(list) != 4 {
		t.Fatalf("Loose: %v %v", list, err)
	}
	if _, err := d.WriteKubeconfig("admin", []byte("y")); err != nil {
		t.Fatal(err)
	}
	if want := []string{" had mode 0755 and was open to others, now 0700", "/admin.kubeconfig had mode 0644 and was open to others, now 0600"}; !reflect.DeepEqual(heard, want) {
		t.Errorf("heard %q", heard)
	}
	if err := d.Tighten(); err != nil {
		t.Fatal(err)
	}
	if list, err := d.Loose(); len(heard) != 4 || len(list) != 0 || err != nil {
		t.Errorf("heard %q, still loose %v %v", heard, list, err)
	}
}

func TestSecretsRoundTripAndDamageIsNeverNone(t *testing.T) {
	d := openTemp(t)
	s := newSecrets(t)
	if err := d.SaveSecrets(s); err != nil {
		t.Fatal(err)
	}
	got, ok, err := d.Secrets()
	if !ok || err != nil || got.ClusterUID() != s.ClusterUID() {
		t.Fatalf("%v %v", ok, err)
	}
	good, err := os.ReadFile(d.file("secrets"))
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string][]byte{"empty": nil, "cut": good[:len(good)/2], "other": []byte("{}")} {
		if err := os.WriteFile(d.file("secrets"), bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if s, ok, err := d.Secrets(); s != nil || ok || err == nil || !strings.Contains(err.Error(), d.file("secrets")+" is damaged") {
			t.Errorf("%s: %v %v", name, ok, err)
		}
	}
}

func TestInventoryAndIdentityRoundTrip(t *testing.T) {
	d := openTemp(t)
	inv := inventory.Inventory{Hosts: []inventory.Host{{
		Name: "cp1", Role: inventory.ControlPlane, Address: netip.MustParseAddr("2001:db8::11"),
		SSH: inventory.SSH{Address: "cp1.example.test", Port: 22, User: "root", Bastion: &inventory.SSH{Address: "b"}},
	}}}
	id := Identity{ClusterUID: "u", Name: "dev", SpecPath: "dev.yaml", EtcdToken: "t", EtcdMembers: []Member{{"cp1", "https://192.0.2.11:2380"}}, EtcdClusterID: "1"}
	if err := d.SaveInventory(inv); err != nil {
		t.Fatal(err)
	}
	if err := d.SaveIdentity(id); err != nil {
		t.Fatal(err)
	}
	if got, ok, err := d.Inventory(); !ok || err != nil || !reflect.DeepEqual(got, inv) {
		t.Errorf("inventory: %v %v %v", got, ok, err)
	}
	if got, ok, err := d.Identity(); !ok || err != nil || !reflect.DeepEqual(got, id) {
		t.Errorf("identity: %v %v %v", got, ok, err)
	}
	if err := os.WriteFile(d.file("identity.json"), []byte(`{"name":"dev"}{`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := d.Identity(); ok || err == nil || !strings.Contains(err.Error(), "identity.json is damaged") {
		t.Errorf("damaged identity: %v %v", ok, err)
	}
}

func TestWriteThatCannotFinishLeavesTheOldFile(t *testing.T) {
	d := openTemp(t)
	if _, err := d.WriteKubeconfig("admin", []byte("old")); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(d.file("inventory.json/x"), 0o700); err != nil { // a rename onto it fails
		t.Fatal(err)
	}
	if err := d.SaveInventory(inventory.Inventory{}); err == nil {
		t.Error("wrote over a directory")
	}
	entries, err := os.ReadDir(d.Path())
	if err != nil || len(entries) != 2 {
		t.Errorf("left over: %v %v", entries, err)
	}
}

func TestRemove(t *testing.T) {
	d := openTemp(t)
	other := &Dir{Events: event.Discard, path: filepath.Join(filepath.Dir(d.path), "other")}
	fillDir(t, d)
	fillDir(t, other)
	for range 2 { // nothing to remove is no error
		if err := d.Remove(); err != nil {
			t.Fatal(err)
		}
	}
	if d.Exists() || !other.Exists() {
		t.Errorf("dev %v, other %v", d.Exists(), other.Exists())
	}
	if err := other.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Dir(d.Path())); !os.IsNotExist(err) {
		t.Errorf(".clusterctl is still there: %v", err)
	}
}

func TestStrangeClusterNamesLeadNowhere(t *testing.T) {
	for _, name := range []string{"", ".", "..", "a/b", "../../x", ".hidden", "/"} {
		d := Open(filepath.Join(t.TempDir(), "sub", "dev.yaml"), name)
		if name == ".." || name == "../../x" {
			if err := os.MkdirAll(d.Path(), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		existed := d.Exists()
		if err := d.Remove(); err == nil {
			t.Errorf("%q: removed", name)
		}
		if err := d.SaveIdentity(Identity{}); err == nil {
			t.Errorf("%q: saved", name)
		}
		if d.Exists() != existed {
			t.Errorf("%q: %s is gone", name, d.Path())
		}
	}
	if _, err := openTemp(t).WriteKubeconfig("../x", nil); err == nil {
		t.Error("kubeconfig outside of the directory")
	}
}
