package etcdapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
)

// Snapshot describes a snapshot that was streamed to its end and is whole.
type Snapshot struct {
	SHA256    string `json:"sha256"`    // of the database, without the digest that etcd appends; hex
	Bytes     int64  `json:"bytes"`     // with it
	Version   string `json:"version"`   // of the member that made it
	Storage   string `json:"storage"`   // of the format of its data
	Revision  int64  `json:"revision"`  // that it holds at least
	ClusterID string `json:"clusterID"` // hex
	Member    string `json:"member"`
}

// Save streams a snapshot of the member behind dial into w and holds it to the digest that etcd
// appends. What w has after an error is no snapshot.
func Save(ctx context.Context, name string, dial Dial, cred Credentials, w io.Writer) (Snapshot, error) {
	c, err := connect(ctx, dial, cred)
	if err != nil {
		return Snapshot{}, err
	}
	defer c.Close()
	st, err := c.Status(ctx, endpoint) // the stream itself says neither revision nor cluster
	if err != nil {
		return Snapshot{}, fmt.Errorf("snapshot of etcd member %s: %w", name, err)
	}
	res, err := c.SnapshotWithVersion(ctx)
	if err != nil {
		return Snapshot{}, fmt.Errorf("snapshot of etcd member %s: %w", name, err)
	}
	defer res.Snapshot.Close()
	sum := newTrailing(w)
	n, err := io.Copy(sum, res.Snapshot)
	if err == nil {
		err = sum.check(n)
	}
	if err != nil {
		return Snapshot{}, fmt.Errorf("snapshot of etcd member %s: %w", name, err)
	}
	return Snapshot{SHA256: hex.EncodeToString(sum.hash.Sum(nil)), Bytes: n, Version: st.Version, Storage: res.Version, Revision: st.Header.Revision,
		ClusterID: fmt.Sprintf("%x", st.Header.ClusterId), Member: name}, nil
}

// page is what a database's size is a multiple of at least (bbolt's pages are larger).
const page = 512

// trailing passes everything on and computes the digest of all but the last 32 bytes, which must
// be that digest (etcd, server/etcdserver/api/v3rpc/maintenance.go, Snapshot).
type trailing struct {
	w    io.Writer
	hash hash.Hash
	last []byte
}

func newTrailing(w io.Writer) *trailing { return &trailing{w: w, hash: sha256.New()} }

func (t *trailing) Write(p []byte) (int, error) {
	n, err := t.w.Write(p)
	t.last = append(t.last, p[:n]...)
	if over := len(t.last) - sha256.Size; over > 0 {
		t.hash.Write(t.last[:over])
		t.last = append(t.last[:0], t.last[over:]...)
	}
	return n, err
}

// check judges n bytes that went through.
func (t *trailing) check(n int64) error {
	switch {
	case n <= sha256.Size:
		return errors.New("it is empty")
	case n%page != sha256.Size:
		return fmt.Errorf("it is cut off: %d bytes", n)
	case !bytes.Equal(t.last, t.hash.Sum(nil)):
		return errors.New("its digest differs: bytes were changed on the way")
	}
	return nil
}
