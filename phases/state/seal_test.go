package state

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"
	"filippo.io/age/agessh"
	"golang.org/x/crypto/ssh"

	"clusterctl/pki"
	"clusterctl/provision/event"
)

// sealedFor gives a way to encrypt for keys, of which the first is ours.
func sealedFor(keys ...*age.X25519Identity) Sealed {
	s := Sealed{Identities: func() ([]age.Identity, error) { return []age.Identity{keys[0]}, nil }}
	for _, k := range keys {
		s.Names = append(s.Names, k.Recipient().String())
		s.Recipients = append(s.Recipients, k.Recipient())
	}
	return s
}

func newAgeKey(t *testing.T) *age.X25519Identity {
	t.Helper()
	k, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// wantSecrets fails the test when the state does not hold these secrets.
func wantSecrets(t *testing.T, d *Dir, want *pki.Secrets) {
	t.Helper()
	got, found, err := d.Secrets()
	if err != nil || !found {
		t.Fatalf("%v, %v", found, err)
	}
	a, err := got.Encode()
	check(t, err)
	b, err := want.Encode()
	check(t, err)
	if !bytes.Equal(a, b) {
		t.Error("other secrets than those that were stored")
	}
}

func TestEncryptedSecretsAreReadWithTheKeyOnly(t *testing.T) {
	d, s := openTemp(t), newSecrets(t)
	mine, other := newAgeKey(t), newAgeKey(t)
	d.Sealed = sealedFor(mine, other)
	fillDir(t, d)
	check(t, d.SaveSecrets(s))
	wantSecrets(t, d, s)

	d.Sealed = sealedFor(other, mine)
	wantSecrets(t, d, s)

	for name, ids := range map[string]func() ([]age.Identity, error){
		"is not set":            func() ([]age.Identity, error) { return nil, errors.New("CLUSTERCTL_AGE_IDENTITY is not set") },
		"none of the private":   sealedFor(newAgeKey(t)).Identities,
		"there is no private k": nil,
	} {
		d.Sealed.Identities = ids
		_, found, err := d.Secrets()
		if found || err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "CLUSTERCTL_AGE_IDENTITY") || !strings.Contains(err.Error(), mine.Recipient().String()) {
			t.Errorf("%s: found %v, error %v", name, found, err)
		}
		if err := d.SaveSecrets(newSecrets(t)); err == nil {
			t.Errorf("%s: secrets that cannot be read were replaced", name)
		}
	}
}

func TestNothingOfAnEncryptedStateIsSecretInPlain(t *testing.T) {
	d, s := openTemp(t), newSecrets(t)
	d.Sealed = sealedFor(newAgeKey(t))
	fillDir(t, d)
	check(t, d.SaveSecrets(s))
	canaries := [][]byte{[]byte("PRIVATE KEY"), s.CA(pki.ClusterCA).KeyPEM.Reveal()}
	for _, name := range committed {
		data := read(t, d.file(name))
		for _, c := range canaries {
			if bytes.Contains(data, c) {
				t.Errorf("%s holds a secret", name)
			}
		}
	}
	if _, err := os.Stat(d.file(secretsName)); err == nil {
		t.Error("plain secrets are there too")
	}
}

func TestSecretsAreEncryptedAnewOnlyWhenSomethingChanged(t *testing.T) {
	d, s := openTemp(t), newSecrets(t)
	mine := newAgeKey(t)
	d.Sealed = sealedFor(mine)
	check(t, d.SaveSecrets(s))
	first := read(t, d.file(sealedName))
	check(t, d.SaveSecrets(s))
	if !bytes.Equal(first, read(t, d.file(sealedName))) {
		t.Error("equal secrets were written again: every run would be a change in Git")
	}
	d.Sealed = sealedFor(mine, newAgeKey(t))
	check(t, d.SaveSecrets(s))
	if bytes.Equal(first, read(t, d.file(sealedName))) || !strings.Contains(string(read(t, d.file(readersName))), d.Sealed.Names[1]) {
		t.Error("a new recipient cannot open the secrets")
	}
}

func TestSecretsFollowTheSpecIntoEncryptionAndBack(t *testing.T) {
	d, s := openTemp(t), newSecrets(t)
	check(t, d.SaveSecrets(s))
	d.Sealed = sealedFor(newAgeKey(t))
	wantSecrets(t, d, s) // plain from before
	check(t, d.SaveSecrets(s))
	wantSecrets(t, d, s)
	if _, err := os.Stat(d.file(secretsName)); err == nil {
		t.Error("the plain file is still there")
	}
	d.Sealed = Sealed{Identities: d.Sealed.Identities}
	wantSecrets(t, d, s)
	check(t, d.SaveSecrets(s))
	wantSecrets(t, d, s)
	for _, name := range []string{sealedName, readersName} {
		if _, err := os.Stat(d.file(name)); err == nil {
			t.Errorf("%s is still there", name)
		}
	}
}

func TestDamagedEncryptedSecretsAreNeverNone(t *testing.T) {
	d := openTemp(t)
	d.Sealed = sealedFor(newAgeKey(t))
	check(t, d.SaveSecrets(newSecrets(t)))
	data := read(t, d.file(sealedName))
	check(t, os.WriteFile(d.file(sealedName), data[:len(data)/2], 0o600))
	if _, found, err := d.Secrets(); found || err == nil || !strings.Contains(err.Error(), "restore it from a backup") {
		t.Errorf("found %v, error %v", found, err)
	}
}

func TestSSHKeysOpenSecrets(t *testing.T) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	check(t, err)
	key, err := ssh.NewPublicKey(public)
	check(t, err)
	line := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))
	recipient, err := agessh.ParseRecipient(line)
	check(t, err)
	identity, err := agessh.NewEd25519Identity(private)
	check(t, err)
	d, s := openTemp(t), newSecrets(t)
	d.Sealed = Sealed{Names: []string{line}, Recipients: []age.Recipient{recipient}, Identities: func() ([]age.Identity, error) { return []age.Identity{identity}, nil }}
	check(t, d.SaveSecrets(s))
	wantSecrets(t, d, s)
}

// TestGitTakesWhatMayBeCommitted asks Git itself.
func TestGitTakesWhatMayBeCommitted(t *testing.T) {
	repo := t.TempDir()
	git := func(args ...string) string {
		out, err := exec.Command("git", append([]string{"-C", repo}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	git("init", "--quiet")
	plain := Open(filepath.Join(repo, "a.yaml"), "plain")
	fillDir(t, plain)
	if got := git("status", "--porcelain", "--untracked-files=all"); got != "" {
		t.Errorf("of a plain state Git sees\n%s", got)
	}
	sealed := Open(filepath.Join(repo, "b.yaml"), "sealed")
	sealed.Sealed = sealedFor(newAgeKey(t))
	fillDir(t, sealed)
	unlock, err := sealed.LockLocal(t.Context(), Holder{PID: 1})
	check(t, err)
	unlock()
	check(t, os.Mkdir(sealed.file("ssh"), 0o700))
	for _, name := range []string{"ssh/known_hosts", "ssh/id_ed25519"} { // of hosts in a cloud
		check(t, os.WriteFile(sealed.file(name), []byte(name), 0o600))
	}
	want := []string{"?? .clusterctl/sealed/ssh/known_hosts"}
	for _, name := range committed {
		want = append(want, "?? .clusterctl/sealed/"+name)
	}
	want = append(want, "?? .clusterctl/.gitignore")
	slices.Sort(want)
	got := strings.Split(strings.TrimSpace(git("status", "--porcelain", "--untracked-files=all")), "\n")
	if !slices.Equal(got, want) {
		t.Errorf("Git sees\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestCheckedOutStateIsNotComplainedAbout: Git keeps no modes.
func TestCheckedOutStateIsNotComplainedAbout(t *testing.T) {
	d, s := openTemp(t), newSecrets(t)
	d.Sealed = sealedFor(newAgeKey(t))
	check(t, d.SaveSecrets(s))
	check(t, os.Chmod(d.Path(), 0o755))
	check(t, os.Chmod(d.file(sealedName), 0o644))
	before := read(t, d.file(sealedName))
	heard := hear(d)
	check(t, d.SaveSecrets(s), d.SaveIdentity(Identity{Name: "dev"}))
	if len(*heard) > 0 || !bytes.Equal(before, read(t, d.file(sealedName))) {
		t.Errorf("a checkout is complained about: %v", *heard)
	}
}

func TestLockRemovesWhatAKilledRunLeft(t *testing.T) {
	d := openTemp(t)
	fillDir(t, d)
	left := d.file(".secrets" + tmpMark + "123")
	check(t, os.WriteFile(left, []byte("half"), 0o600))
	unlock, err := d.LockLocal(t.Context(), Holder{PID: 1})
	check(t, err)
	defer unlock()
	if _, err := os.Stat(left); err == nil {
		t.Error("half-written keys stay behind")
	}
}

// hear collects the texts of events.
func hear(d *Dir) *[]string {
	var heard []string
	d.Events = event.Func(func(e event.Event) { heard = append(heard, e.Text) })
	return &heard
}
