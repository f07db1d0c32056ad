package sshhost

import (
	"bytes"
	"context"
	_ "embed" // put.sh
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"clusterctl/provision/host"
)

//go:embed put.sh
var putScript string

const (
	putMark   = "clusterctl-put"
	putBuffer = 256 << 10
)

// Put installs files; see host.Host. All files of a call travel in one session. A connection
// that is lost on the way is made again and the files are put once more: that is safe, as
// each file is the old one or the new one.
func (h *Host) Put(ctx context.Context, files ...host.File) error {
	if len(files) == 0 {
		return nil
	}
	for _, f := range files {
		if err := checkFile(f); err != nil {
			return fmt.Errorf("%s: put %s: %w", h.name, f.Path, err)
		}
	}
	err := h.put(ctx, files)
	var lost *host.UnreachableError
	var silent *silentError
	if errors.As(err, &lost) && (errors.As(err, &silent) || isTransient(err)) && ctx.Err() == nil {
		h.log.Debug("put again", "error", err)
		err = h.put(ctx, files)
	}
	return err
}

// checkFile refuses what the script cannot be told.
func checkFile(f host.File) error {
	switch {
	case !path.IsAbs(f.Path), path.Clean(f.Path) != f.Path, f.Path == "/":
		return errors.New("the path must be absolute and clean")
	case strings.ContainsRune(f.Path, 0):
		return errors.New("the path holds a NUL byte")
	case f.Owner != "" && strings.ContainsAny(f.Owner, " \t\n\\"), strings.HasPrefix(f.Owner, "-"):
		return fmt.Errorf("the owner %q is not user:group", f.Owner)
	case len(f.SHA256) != 64 || strings.Trim(f.SHA256, "0123456789abcdef") != "":
		return fmt.Errorf("the SHA-256 %q is not 64 lower-case hexadecimal digits", f.SHA256)
	case f.Size < 0 || f.Open == nil:
		return errors.New("the file has no content")
	}
	return nil
}

func (h *Host) put(ctx context.Context, files []host.File) error {
	var out bytes.Buffer
	_, err := h.execute(ctx, execution{
		args:   []string{"sh", "-c", putScript, putMark},
		root:   true,
		stdout: &out,
		feed:   func(w io.Writer) error { return sendFiles(w, files) },
	})
	var exit *host.ExitError
	switch {
	case errors.Is(err, errDetached):
		return ctx.Err()
	case errors.As(err, &exit):
		return h.putError(exit, files)
	case err != nil:
		return err
	}
	if n, _ := strconv.Atoi(strings.TrimSpace(out.String())); n != len(files) {
		return fmt.Errorf("%s: put: %d of %d files arrived", h.name, n, len(files))
	}
	return nil
}

// sendFiles writes the stream that put.sh reads.
func sendFiles(w io.Writer, files []host.File) error {
	buf := make([]byte, putBuffer)
	for _, f := range files {
		owner := f.Owner
		if owner == "" {
			owner = "root:root"
		}
		durable := "sync"
		if f.Lazy {
			durable = "lazy"
		}
		_, err := fmt.Fprintf(w, "%04o %s %d %s %s %s\n", f.Mode.Perm(), owner, f.Size, f.SHA256, durable, escape(f.Path))
		if err != nil {
			return err
		}
		if err := sendContent(w, f, buf); err != nil {
			return err
		}
	}
	return nil
}

func sendContent(w io.Writer, f host.File, buf []byte) error {
	r, err := f.Open()
	if err != nil {
		return fmt.Errorf("put %s: open its content: %w", f.Path, err)
	}
	defer func() { _ = r.Close() }() // only read
	// One byte more than announced is asked for, to see a source that grew.
	src := &sized{r: io.LimitReader(r, f.Size+1), left: f.Size}
	if _, err := io.CopyBuffer(struct{ io.Writer }{w}, src, buf); err != nil {
		return fmt.Errorf("put %s: %w", f.Path, err)
	}
	return nil
}

// sized gives exactly left bytes or an error.
type sized struct {
	r    io.Reader
	left int64
}

func (s *sized) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.left -= int64(n)
	switch {
	case s.left < 0:
		return 0, errors.New("its content is longer than its size says")
	case err == io.EOF && s.left > 0:
		return n, fmt.Errorf("its content is %d bytes shorter than its size says", s.left)
	}
	return n, err
}

// escape writes a path on one line for printf's %b (POSIX XCU printf): what is not plain
// becomes \0 and three octal digits.
func escape(p string) string {
	var b strings.Builder
	for i := range len(p) {
		switch c := p[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("/._-+:@,=", c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, `\0%03o`, c)
		}
	}
	return b.String()
}

// putError reads the script's reason.
func (h *Host) putError(exit *host.ExitError, files []host.File) error {
	exit.Args = []string{putMark} // the script itself says nothing to people
	_, line, found := cutLast(exit.Stderr, putMark+" ")
	fields := strings.SplitN(strings.TrimSpace(line), " ", 3)
	if !found || len(fields) < 2 {
		return fmt.Errorf("put %s: %w", files[0].Path, exit)
	}
	i, err := strconv.Atoi(fields[0])
	if err != nil || i < 0 || i >= len(files) {
		return fmt.Errorf("put %s: %w", files[0].Path, exit)
	}
	f, detail := files[i], strings.Join(fields[2:], " ")
	if fields[1] == "nospace" {
		free, _ := strconv.ParseInt(detail, 10, 64) // 0 when df said nothing
		return &host.NoSpaceError{Host: h.name, Path: f.Path, Free: free, Need: f.Size}
	}
	before, _, _ := cutLast(exit.Stderr, putMark+" ")
	return &host.UploadError{Host: h.name, Path: f.Path, Reason: putReason(fields[1], detail, f, strings.TrimSpace(before))}
}

func putReason(kind, detail string, f host.File, said string) string {
	if said != "" {
		said = ": " + said
	}
	switch kind {
	case "short":
		return fmt.Sprintf("only %s of %d bytes arrived; run again", detail, f.Size)
	case "digest":
		return fmt.Sprintf("its SHA-256 on the host is %s, must be %s; run again", detail, f.SHA256)
	case "directory":
		return "there is a directory of that name; remove it"
	case "mkdir":
		return "make directory " + detail + said
	case "owner":
		return "set owner " + detail + said
	default:
		return kind + said
	}
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
