package observe

import (
	"strings"
	"testing"
)

// wal373 is the head of a log file that etcd 3.7.3 made, as od prints it.
const wal373 = ` 04 00 00 00 00 00 00 84 08 04 10 00 00 00 00 00
 20 00 00 00 00 00 00 00 08 01 10 bb 81 c7 fc 05
 1a 16 08 cd d2 91 8b d2 b8 81 cf 8e 01 10 b2 98
 ea f1 94 83 86 fc cd 01 0e 00 00 00 00 00 00 82
 08 05 10 94 bb c7 ed 0e 1a 04 08 00 10 00 00 00`

func TestClusterIDIsReadFromEtcdsLog(t *testing.T) {
	lines := strings.Split(wal373, "\n")
	if got := walCluster(lines); got != "cdf818194e3a8c32" {
		t.Errorf("cluster id = %q, want cdf818194e3a8c32", got)
	}
	for cut := range lines {
		_ = walCluster(lines[:cut])
	}
	for _, other := range []string{"", "zz", "ff ff ff ff ff ff ff ff ff", "00 00 00 00 00 00 00 00"} {
		if got := walCluster([]string{other}); got != "" {
			t.Errorf("cluster id of %q = %q, want none", other, got)
		}
	}
}

func FuzzWALCluster(f *testing.F) {
	f.Add(wal373)
	f.Add(strings.ReplaceAll(wal373, "84", "ff"))
	f.Fuzz(func(_ *testing.T, dump string) { walCluster(strings.Split(dump, "\n")) })
}
