package hosttest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"path"
	"slices"
	"sync"

	"clusterctl/provision/host"
)

// FakeFile is a file on a Fake.
type FakeFile struct {
	Content []byte
	Mode    fs.FileMode
	Owner   string // user:group
}

// Recorded is a command that a Fake was asked to run.
type Recorded struct {
	Args  []string
	Stdin []byte
	Root  bool
}

// Handler plays a command. Its error is given to the caller as it is; Exit makes the error of
// an exit code. It is called without locks held, so that it may use the Fake.
type Handler func(ctx context.Context, c host.Cmd) (host.Result, error)

// Fake is a host in memory: files that were put, commands that were played. Commands that
// nobody handles and that it does not know itself (cat, ls -A, mkdir -p, rm, sha256sum,
// stat -c, test -e, true, false, echo) end with exit code 127. It is safe for concurrent use.
type Fake struct {
	name string

	mu       sync.Mutex
	files    map[string]FakeFile
	dirs     map[string]fs.FileMode
	commands []Recorded
	puts     []string
	handlers []handled
	dial     func(ctx context.Context, network, addr string) (net.Conn, error)
	down     error
	putLimit int
}

type handled struct {
	prefix []string
	do     Handler
	stream bool // it reads the input itself, as it comes
}

var _ host.Host = (*Fake)(nil)

// NewFake makes an empty host.
func NewFake(name string) *Fake {
	return &Fake{name: name, files: make(map[string]FakeFile), putLimit: -1,
		dirs: map[string]fs.FileMode{"/": 0o755}}
}

// Handle plays the commands whose arguments begin with prefix; no prefix means all. The
// handler that was added last is asked first.
func (f *Fake) Handle(do Handler, prefix ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.handlers = append(f.handlers, handled{prefix: prefix, do: do})
}

// HandleStream is Handle for a command that runs while its input is written. The input is not recorded.
func (f *Fake) HandleStream(do Handler, prefix ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.handlers = append(f.handlers, handled{prefix: prefix, do: do, stream: true})
}

// Print is a handler that succeeds and prints text.
func Print(text string) Handler {
	return func(_ context.Context, c host.Cmd) (host.Result, error) {
		return printed(c, []byte(text))
	}
}

// Exit is a handler that ends with an exit code and a text on standard error.
func (f *Fake) Exit(code int, stderr string) Handler {
	return func(_ context.Context, c host.Cmd) (host.Result, error) {
		return host.Result{Stderr: []byte(stderr)}, &host.ExitError{Host: f.name, Args: c.Args, Code: code, Stderr: stderr}
	}
}

// HandleDial plays Dial. Without it every Dial is refused.
func (f *Fake) HandleDial(dial func(ctx context.Context, network, addr string) (net.Conn, error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dial = dial
}

// SetDown lets every call return an *UnreachableError that wraps err; nil: the host is back.
func (f *Fake) SetDown(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = err
}

// CrashAfterPuts lets the host go down when n more files have been put, as a crash between
// two steps does; SetDown(nil) brings it back.
func (f *Fake) CrashAfterPuts(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.putLimit = n
}

// SetFile makes a file.
func (f *Fake) SetFile(p string, file FakeFile) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.makeDirs(path.Dir(p))
	f.files[p] = file
}

// File gives a file.
func (f *Fake) File(p string) (FakeFile, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	file, ok := f.files[p]
	return file, ok
}

// Paths gives the paths of all files, sorted.
func (f *Fake) Paths() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.files))
}

// Commands gives what was run so far, in order.
func (f *Fake) Commands() []Recorded {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.commands)
}

// Puts gives the paths of the files put so far, in order and with repetitions.
func (f *Fake) Puts() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.puts)
}

// Name is the host's name.
func (f *Fake) Name() string { return f.name }

// Close does nothing: there is no connection.
func (f *Fake) Close() error { return nil }

func (f *Fake) unreachable(err error) error {
	return &host.UnreachableError{Host: f.name, Addr: "fake", Err: err}
}

var errCrashed = errors.New("crashed")       // wrapped only
var errNoDial = errors.New("nobody listens") // wrapped only

// Dial opens a connection by the function given to HandleDial.
func (f *Fake) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	f.mu.Lock()
	down, dial := f.down, f.dial
	f.mu.Unlock()
	switch {
	case down != nil:
		return nil, f.unreachable(down)
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case dial == nil:
		return nil, fmt.Errorf("dial %s from %s: %w", addr, f.name, errNoDial)
	}
	c, err := dial(ctx, network, addr)
	if err != nil {
		return nil, fmt.Errorf("dial %s from %s: %w", addr, f.name, err)
	}
	return c, nil
}

// Run records the command and plays it.
func (f *Fake) Run(ctx context.Context, c host.Cmd) (host.Result, error) {
	if len(c.Args) == 0 || c.Args[0] == "" {
		return host.Result{}, fmt.Errorf("%s: run %q: it names no program", f.name, c.Args)
	}
	f.mu.Lock()
	how := f.handler(c.Args)
	f.mu.Unlock()
	var stdin []byte
	if c.Stdin != nil && !how.stream {
		var err error
		if stdin, err = io.ReadAll(c.Stdin); err != nil {
			return host.Result{}, err
		}
		c.Stdin = newReader(stdin)
	}
	f.mu.Lock()
	down := f.down
	if down == nil && ctx.Err() == nil {
		f.commands = append(f.commands, Recorded{Args: slices.Clone(c.Args), Stdin: stdin, Root: c.Root})
	}
	f.mu.Unlock()
	switch {
	case down != nil:
		return host.Result{}, f.unreachable(down)
	case ctx.Err() != nil:
		return host.Result{}, ctx.Err()
	case how.do != nil:
		return how.do(ctx, c)
	}
	return f.builtin(c)
}

// handler gives how a command is played; without do nobody handles it.
func (f *Fake) handler(args []string) handled {
	for _, h := range slices.Backward(f.handlers) {
		if len(args) >= len(h.prefix) && slices.Equal(args[:len(h.prefix)], h.prefix) {
			return h
		}
	}
	return handled{}
}

// Put installs files in order, as a real host does.
func (f *Fake) Put(ctx context.Context, files ...host.File) error {
	for _, file := range files {
		if !path.IsAbs(file.Path) || path.Clean(file.Path) != file.Path || file.Path == "/" {
			return fmt.Errorf("%s: put %q: the path must be absolute and clean", f.name, file.Path)
		}
	}
	for _, file := range files {
		if err := f.putOne(ctx, file); err != nil {
			return err
		}
	}
	return nil
}

func (f *Fake) putOne(ctx context.Context, file host.File) error {
	if err := ctx.Err(); err != nil {
		return ctx.Err()
	}
	content, err := readAll(ctx, file)
	if err != nil {
		return fmt.Errorf("%s: put %s: %w", f.name, file.Path, err)
	}
	sum := sha256.Sum256(content)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.putLimit == 0 {
		f.putLimit, f.down = -1, errCrashed
	}
	_, isDir := f.dirs[file.Path]
	switch {
	case f.down != nil:
		return f.unreachable(f.down)
	case hex.EncodeToString(sum[:]) != file.SHA256:
		return &host.UploadError{Host: f.name, Path: file.Path, Reason: "its SHA-256 differs"}
	case isDir:
		return &host.UploadError{Host: f.name, Path: file.Path, Reason: "there is a directory of that name"}
	}
	if f.putLimit > 0 {
		f.putLimit--
	}
	owner := file.Owner
	if owner == "" {
		owner = "root:root"
	}
	f.makeDirs(path.Dir(file.Path))
	f.files[file.Path] = FakeFile{Content: content, Mode: file.Mode.Perm(), Owner: owner}
	f.puts = append(f.puts, file.Path)
	return nil
}

// readAll reads a source that may hang longer than ctx.
func readAll(ctx context.Context, file host.File) ([]byte, error) {
	type result struct {
		content []byte
		err     error
	}
	done := make(chan result, 1)
	go func() {
		r, err := file.Open()
		if err != nil {
			done <- result{err: err}
			return
		}
		defer func() { _ = r.Close() }() // only read
		content, err := io.ReadAll(r)
		done <- result{content, err}
	}()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case r := <-done:
		if r.err == nil && int64(len(r.content)) != file.Size {
			r.err = fmt.Errorf("its content has %d bytes, its size says %d", len(r.content), file.Size)
		}
		return r.content, r.err
	}
}

func (f *Fake) makeDirs(dir string) {
	for ; dir != "/" && dir != "."; dir = path.Dir(dir) {
		if _, ok := f.dirs[dir]; !ok {
			f.dirs[dir] = 0o755
		}
	}
}
