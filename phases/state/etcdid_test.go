package state

import (
	"fmt"
	"testing"
)

// The wanted ids were computed with etcd's own membership.NewClusterFromURLsMap, v3.7.3.
func TestEtcdClusterIDIsEtcds(t *testing.T) {
	members := func(format string, n int) []Member {
		var out []Member
		for i := range n {
			out = append(out, Member{Name: fmt.Sprintf("cp%d", n-i), PeerURL: fmt.Sprintf(format, n-i)})
		}
		return out
	}
	for _, tt := range []struct {
		token   string
		members []Member
		want    string
	}{
		{"dev-0123456789abcdef", members("https://192.0.2.1%d:2380", 1), "cfe9d7f3e3bbc958"},
		{"dev-0123456789abcdef", members("https://192.0.2.1%d:2380", 3), "3f4f52375a1fe33d"},
		{"etcd-cluster", members("https://[2001:db8::1%d]:2380", 3), "6366e1a611bc0c59"},
		{"t7", members("https://192.0.2.%d:2380", 5), "6af4762d7e745ecf"},
		{"tok2", members("https://192.0.2.1%d:2380", 1), "ddc8678c02ed1e0"}, // no leading zero
	} {
		if got := EtcdClusterID(tt.token, tt.members); got != tt.want {
			t.Errorf("EtcdClusterID(%s, %v) = %s, want %s", tt.token, tt.members, got, tt.want)
		}
	}
	if got := EtcdMemberID("t7", "https://192.0.2.4:2380"); got != "b7891a1fcadd1e5a" {
		t.Errorf("member id %s", got)
	}
}
