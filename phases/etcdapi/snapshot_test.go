package etcdapi

import (
	"bytes"
	"crypto/sha256"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// snapshot is a database of n bytes with its digest, as etcd streams it.
func snapshot(n int) []byte {
	db := bytes.Repeat([]byte("database"), n/8)
	sum := sha256.Sum256(db)
	return append(db, sum[:]...)
}

func TestOnlyAWholeSnapshotIsOne(t *testing.T) {
	flipped := snapshot(4096)
	flipped[100]++
	for name, c := range map[string]struct {
		data []byte
		want string // empty: good
	}{
		"good":           {snapshot(4096), ""},
		"cut off":        {snapshot(4096)[:2500], "cut off: 2500 bytes"},
		"cut at a page":  {snapshot(4096)[:2048+32], "digest differs"},
		"flipped byte":   {flipped, "digest differs"},
		"empty":          {nil, "empty"},
		"without digest": {snapshot(4096)[:4096], "cut off"},
	} {
		for _, r := range []io.Reader{bytes.NewReader(c.data), iotest.OneByteReader(bytes.NewReader(c.data)), iotest.DataErrReader(bytes.NewReader(c.data))} {
			var out bytes.Buffer
			sum := newTrailing(&out)
			n, err := io.Copy(sum, r)
			if err != nil {
				t.Fatal(err)
			}
			err = sum.check(n)
			if !bytes.Equal(out.Bytes(), c.data) || (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %q", name, err, c.want)
			}
		}
	}
}
