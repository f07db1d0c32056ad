package phases_test

import (
	"slices"
	"testing"

	"clusterctl/phases"
)

func TestANodeOfARemovedHostIsEvacuatedWhileThereIsAnotherWorker(t *testing.T) {
	for name, c := range map[string]struct {
		from, to string
		want     []string
	}{
		"nobody goes":        {three, three, nil},
		"a worker goes":      {three, hosts([]int{1, 2, 3}, []int{2}), []string{"worker-1"}},
		"a control plane":    {three, hosts([]int{2, 3, 4}, []int{1, 2}), []string{"cp-1"}},
		"the only one moves": {one, hosts([]int{1}, []int{2}), []string{"worker-1"}},
	} {
		w := newWorld(t)
		w.run(c.from)
		cluster, _ := w.look(c.to)
		if got := phases.Evacuated(planOf(t, cluster, phases.Up(), w.facts)); !slices.Equal(got, c.want) {
			t.Errorf("%s: nodes %v, want %v", name, got, c.want)
		}
	}
}
