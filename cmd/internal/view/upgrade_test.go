package view

import (
	"strings"
	"testing"
)

func TestUpgradeAsText(t *testing.T) {
	var b strings.Builder
	err := NewOutput(&b, Text).Upgrade(Upgrade{
		Cluster: "dev", Versions: []string{"v1.37.2"},
		Components: []ComponentChange{{"etcd", []string{"v3.6.16", "v3.7.3"}, "v3.7.3"}},
		Stages:     []Stage{{"etcd", []string{"etcd"}, [][]string{{"cp-1"}, {"cp-3"}}, false}, {"nodes", []string{"kubelet", "kube-proxy"}, [][]string{{"w-1", "w-2"}}, true}},
		Disruption: []string{"pods of w-1 and w-2 are moved"},
	})
	want := `Cluster dev: Kubernetes to v1.37.2

COMPONENT  RUNS             WANTED
etcd       v3.6.16, v3.7.3  v3.7.3

ORDER
  1. backup: a verified snapshot of etcd
  2. bundle: new programs on the hosts that run them, beside those that run
  3. etcd: restart etcd on cp-1, then cp-3
  4. nodes: drain, then restart kubelet, kube-proxy on w-1 and w-2

DISRUPTION
  - pods of w-1 and w-2 are moved
`
	if err != nil || b.String() != want {
		t.Errorf("error %v, text\n%s\nwant\n%s", err, b.String(), want)
	}
	b.Reset()
	if err := NewOutput(&b, Text).Upgrade(Upgrade{Cluster: "dev"}); err != nil || b.String() != "Cluster dev: every component runs the wanted version.\n" {
		t.Errorf("error %v, text %q", err, b.String())
	}
}
