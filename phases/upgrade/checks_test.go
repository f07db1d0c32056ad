package upgrade_test

import (
	"errors"
	"slices"
	"testing"

	"clusterctl/phases/drain"
	"clusterctl/phases/upgrade"
)

func TestWhatStandsInTheWay(t *testing.T) {
	const mib = 1 << 20
	well := upgrade.Member{Host: "cp-1", Size: 10 * mib}
	away := upgrade.Member{Host: "cp-2", Err: errors.New("connection refused")}
	for name, c := range map[string]struct {
		seen upgrade.Seen
		want []string // severity and check
	}{
		"nothing":           {upgrade.Seen{Members: []upgrade.Member{well, well, well}}, nil},
		"space alarm":       {upgrade.Seen{Members: []upgrade.Member{{Host: "cp-1", Alarms: []string{"NOSPACE"}}, well, well}}, []string{"error etcd-space"}},
		"nearly full":       {upgrade.Seen{Members: []upgrade.Member{{Host: "cp-1", Size: 90 * mib}, well, well}}, []string{"warning etcd-space"}},
		"a member away":     {upgrade.Seen{Members: []upgrade.Member{well, away, well}}, []string{"warning etcd-members"}},
		"no quorum":         {upgrade.Seen{Members: []upgrade.Member{well, away, away}}, []string{"warning etcd-members", "warning etcd-members", "error etcd-members"}},
		"API that ends":     {upgrade.Seen{APIs: []upgrade.API{{Group: "flowcontrol.apiserver.k8s.io", Version: "v1beta3", Resource: "flowschemas", Removed: "1.37"}}}, []string{"error deprecated-apis"}},
		"API that stays":    {upgrade.Seen{APIs: []upgrade.API{{Version: "v1", Resource: "componentstatuses"}, {Version: "v1", Resource: "endpoints", Removed: "1.40"}}}, []string{"warning deprecated-apis"}},
		"budget":            {upgrade.Seen{Budgets: []drain.Budget{{Namespace: "a", Name: "b", Never: true}}}, []string{"warning budgets"}},
		"a leaf ends":       {upgrade.Seen{Ending: []upgrade.Certificate{{Host: "w-1", Name: "kubelet-serving"}}}, []string{"warning certificates"}},
		"an authority ends": {upgrade.Seen{Ending: []upgrade.Certificate{{Name: "etcd-ca", Authority: true}}}, []string{"error certificates"}},
		"stored and served": {upgrade.Seen{Custom: []upgrade.CustomAPI{{Name: "a.example.test", Stored: []string{"v1"}, Served: []string{"v1", "v2"}}}}, nil},
		"stored not served": {upgrade.Seen{Custom: []upgrade.CustomAPI{{Name: "a.example.test", Stored: []string{"v1", "v2"}, Served: []string{"v2"}}}}, []string{"warning stored-versions"}},
		"API is not there":  {upgrade.Seen{Silent: errors.New("no API server answers")}, []string{"warning api"}},
	} {
		c.seen.Quota = 100 * mib
		var got []string
		for _, f := range upgrade.Check("v1.37.2", c.seen) {
			got = append(got, string(f.Severity)+" "+f.Check)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: findings %q, want %q", name, got, c.want)
		}
	}
}
