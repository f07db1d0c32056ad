// Package resource is the closed set of things that a host or the cluster must have. A resource
// is a value: it says what must be there and how to recognise it, never how it gets there.
package resource

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
)

// Kind names a sort of resource.
type Kind string

// Key identifies a resource. Host is empty for things of the cluster as a whole.
type Key struct {
	Host string
	Kind Kind
	Name string
}

func (k Key) String() string { return fmt.Sprintf("%s:%s:%s", k.Host, k.Kind, k.Name) }

// Resource is one thing that must be there.
type Resource interface {
	// Key identifies it; two resources of one plan never share a key.
	Key() Key
	// Digest covers all that must match: equal digest means nothing to do.
	Digest() string
	// Title is one line for people, without secrets.
	Title() string
	resource()
}

// Fact is what was seen of a resource.
type Fact struct {
	Exists bool
	Digest string // of what is there; for a unit, the inputs digest stamped at its last good start, or Touched
	Active bool   // units: running
	Detail string // for people: version, mode, state
}

// Touched is the digest of a unit that somebody else started, with files that were changed after
// that: nobody knows what it read, whatever the files hold now.
const Touched = "touched"

// NotReloaded is the detail of a unit whose file is not the one that systemd has in memory.
const NotReloaded = "its file is newer than what systemd read of it"

// Facts is what was seen, by key. A key that is missing was not there.
type Facts map[Key]Fact

const (
	KindDir      Kind = "directory"
	KindFile     Kind = "file"
	KindArtifact Kind = "artifact"
	KindLink     Kind = "link"
	KindUnit     Kind = "unit"
	KindImage    Kind = "image"
	KindSysctl   Kind = "sysctl"
	KindModule   Kind = "module"
	KindSwap     Kind = "swap"
	KindNode     Kind = "node"
	KindSchedule Kind = "scheduling"
	KindManifest Kind = "manifest"
)

// Dir is a directory with its mode and owner.
type Dir struct {
	Host, Path string
	Mode       fs.FileMode
	Owner      string // user:group
}

func (d Dir) Key() Key       { return Key{d.Host, KindDir, d.Path} }
func (d Dir) Digest() string { return ModeDigest(d.Mode, d.Owner) }
func (d Dir) Title() string  { return d.Path + "/" }
func (Dir) resource()        {}

// File is a file with its content.
type File struct {
	Host, Path string
	Mode       fs.FileMode
	Owner      string
	Content    []byte
	Secret     bool // content must not be shown
}

func (f File) Key() Key       { return Key{f.Host, KindFile, f.Path} }
func (f File) Digest() string { return FileDigest(Sum(f.Content), f.Mode, f.Owner) }
func (f File) Title() string  { return f.Path }
func (File) resource()        {}

// Artifact is a file that comes from the bundle.
type Artifact struct {
	Host, Path string
	Mode       fs.FileMode
	SHA256     string
	Size       int64
	Version    string
	Open       func() (io.ReadCloser, error)
}

func (a Artifact) Key() Key       { return Key{a.Host, KindArtifact, a.Path} }
func (a Artifact) Digest() string { return FileDigest(a.SHA256, a.Mode, "root:root") }
func (a Artifact) Title() string  { return fmt.Sprintf("%s (%s, %d MB)", a.Path, a.Version, a.Size>>20) }
func (Artifact) resource()        {}

// Link is a symbolic link.
type Link struct {
	Host, Path, Target string
}

func (l Link) Key() Key       { return Key{l.Host, KindLink, l.Path} }
func (l Link) Digest() string { return l.Target }
func (l Link) Title() string  { return l.Path + " -> " + l.Target }
func (Link) resource()        {}

// Unit is a systemd unit that is enabled and runs. Its file is a File of its own.
type Unit struct {
	Host, Name string   // Name with suffix: etcd.service
	Inputs     []string // digests of everything that the running process read at its start
	Reads      []string // paths of those inputs that are files
	Detached   bool     // its start is not waited for: a gate is
}

func (u Unit) Key() Key       { return Key{u.Host, KindUnit, u.Name} }
func (u Unit) Digest() string { return SumStrings(u.Inputs...) }
func (u Unit) Title() string  { return u.Name }
func (Unit) resource()        {}

// Image is a container image in the runtime's own store.
type Image struct {
	Host, Reference string
	ImageDigest     string // sha256:... of the manifest
	Archive         string // path on the host of the OCI archive to import
}

func (i Image) Key() Key       { return Key{i.Host, KindImage, i.Reference} }
func (i Image) Digest() string { return i.ImageDigest }
func (i Image) Title() string  { return i.Reference }
func (Image) resource()        {}

// Sysctl is a kernel setting, now; a File in /etc/sysctl.d carries it over a reboot.
type Sysctl struct {
	Host, Name, Value string
}

func (s Sysctl) Key() Key       { return Key{s.Host, KindSysctl, s.Name} }
func (s Sysctl) Digest() string { return s.Value }
func (s Sysctl) Title() string  { return s.Name + " = " + s.Value }
func (Sysctl) resource()        {}

// Module is a kernel module that is loaded, built in, or impossible to load because the host is
// a container; a File in /etc/modules-load.d carries it over a reboot.
type Module struct {
	Host, Name string
}

func (m Module) Key() Key       { return Key{m.Host, KindModule, m.Name} }
func (m Module) Digest() string { return "loaded" }
func (m Module) Title() string  { return "kernel module " + m.Name }
func (Module) resource()        {}

// Swap is swap switched off now and at boot: fstab lines, swap units and zram alike.
type Swap struct{ Host string }

func (s Swap) Key() Key       { return Key{s.Host, KindSwap, "swap"} }
func (s Swap) Digest() string { return "off" }
func (s Swap) Title() string  { return "swap off" }
func (Swap) resource()        {}

// Sum is the SHA-256 of b in lower-case hex.
func Sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// SumStrings is the SHA-256 over parts, each ended by a zero byte.
func SumStrings(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		io.WriteString(h, p)
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil))
}

// FileDigest is the digest of a file whose content has the SHA-256 sum.
func FileDigest(sum string, mode fs.FileMode, owner string) string {
	return sum + " " + ModeDigest(mode, owner)
}

// ModeDigest is the digest of permission bits and owner.
func ModeDigest(mode fs.FileMode, owner string) string {
	if owner == "" {
		owner = "root:root"
	}
	return fmt.Sprintf("%04o %s", mode.Perm(), owner)
}
