package observe

import (
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// Of etcd's write-ahead log (server/storage/wal: walpb/record.proto, encoder.go): a file is frames,
// each a little-endian length of 8 bytes whose upper byte holds the padding, then a Record, padded
// to 8 bytes. The second record of every file is the metadata.
const (
	walRecordType   = 1 // field numbers of walpb.Record
	walRecordData   = 3
	walMetadataType = 1 // value of the field type
	walClusterID    = 2 // field number of etcdserverpb.Metadata
)

// walCluster finds the cluster's id in the first bytes of a log file, given as od prints them. It
// is empty when the bytes are none of etcd's.
func walCluster(dump []string) string {
	data, err := hex.DecodeString(strings.Join(strings.Fields(strings.Join(dump, " ")), ""))
	if err != nil {
		return ""
	}
	for len(data) >= 8 {
		frame := binary.LittleEndian.Uint64(data)
		size, padding := frame&(1<<56-1), uint64(0)
		if frame>>63 != 0 {
			padding = frame >> 56 & 7
		}
		data = data[8:]
		if size+padding > uint64(len(data)) {
			return ""
		}
		if kind, body := walRecord(data[:size]); kind == walMetadataType {
			if id := varintField(body, walClusterID); id != 0 {
				return strconv.FormatUint(id, 16)
			}
			return ""
		}
		data = data[size+padding:]
	}
	return ""
}

func walRecord(b []byte) (kind uint64, body []byte) {
	kind = varintField(b, walRecordType)
	for len(b) > 0 {
		n, typ, head := protowire.ConsumeTag(b)
		if head < 0 {
			return 0, nil
		}
		if n == walRecordData && typ == protowire.BytesType {
			if body, size := protowire.ConsumeBytes(b[head:]); size >= 0 {
				return kind, body
			}
		}
		size := protowire.ConsumeFieldValue(n, typ, b[head:])
		if size < 0 {
			return 0, nil
		}
		b = b[head+size:]
	}
	return kind, nil
}

// varintField is the value of a message's field of type varint; 0 when there is none.
func varintField(b []byte, want protowire.Number) uint64 {
	for len(b) > 0 {
		n, typ, head := protowire.ConsumeTag(b)
		if head < 0 {
			return 0
		}
		if n == want && typ == protowire.VarintType {
			v, size := protowire.ConsumeVarint(b[head:])
			if size < 0 {
				return 0
			}
			return v
		}
		size := protowire.ConsumeFieldValue(n, typ, b[head:])
		if size < 0 {
			return 0
		}
		b = b[head+size:]
	}
	return 0
}
