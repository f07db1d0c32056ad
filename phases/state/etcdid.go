package state

import (
	"crypto/sha1"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
)

// EtcdClusterID is the id that etcd will give to a cluster that is founded with these members,
// in hex without leading zeros, as etcd prints it. Adding and removing members later does not
// change it. Two members never share a peer URL.
//
// Rule: etcd 3.6 and 3.7, server/etcdserver/api/membership, RaftCluster.genID: the first 8 bytes
// of the SHA-1 over all member ids in ascending order, 8 bytes big endian each. Not security:
// the id only tells clusters apart.
func EtcdClusterID(token string, members []Member) string {
	ids := make([]uint64, 0, len(members))
	for _, m := range members {
		ids = append(ids, memberID(token, m.PeerURL))
	}
	slices.Sort(ids)
	var b []byte
	for _, id := range ids {
		b = binary.BigEndian.AppendUint64(b, id)
	}
	return hexID(firstEight(b))
}

// EtcdMemberID is the id of a founding member with these peer URLs, in hex as etcd prints it. A
// member that is added later has an id that also depends on the time.
func EtcdMemberID(token string, peerURLs ...string) string {
	return hexID(memberID(token, peerURLs...))
}

// memberID: computeMemberID of the same package: the first 8 bytes of the SHA-1 over the sorted
// peer URLs, joined without a separator, and the token.
func memberID(token string, peerURLs ...string) uint64 {
	sorted := slices.Sorted(slices.Values(peerURLs))
	return firstEight([]byte(strings.Join(sorted, "") + token))
}

func firstEight(b []byte) uint64 {
	sum := sha1.Sum(b)
	return binary.BigEndian.Uint64(sum[:8])
}

func hexID(id uint64) string { return strconv.FormatUint(id, 16) }
