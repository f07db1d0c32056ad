package phases

import (
	"maps"
	"testing"
)

func TestRestartCountsAreReadOfSeveralUnits(t *testing.T) {
	got := restartCounts([]byte("NRestarts=3\nId=kubelet.service\n\nId=kube-proxy.service\nNRestarts=0\n\nId=not-there.service\n"))
	if want := map[string]int{"kubelet.service": 3, "kube-proxy.service": 0}; !maps.Equal(got, want) {
		t.Errorf("read %v, want %v", got, want)
	}
}
