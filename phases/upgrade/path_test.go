package upgrade_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"clusterctl/components/release"
	"clusterctl/phases/upgrade"
)

// of is a release with an etcd version.
func of(kubernetes, etcd string) release.Release {
	return release.Release{Kubernetes: kubernetes, Components: []release.Component{{Name: "kubernetes", Version: kubernetes}, {Name: "etcd", Version: etcd}, {Name: "containerd", Version: "v2.4.2"}}}
}

// live is a cluster of one control plane and one worker that runs a version.
func live(kubernetes, etcd string) map[string]map[string]string {
	return map[string]map[string]string{
		"cp-1": {"etcd": etcd, "kube-apiserver": kubernetes, "kube-controller-manager": kubernetes, "kube-scheduler": kubernetes, "kubelet": kubernetes, "kube-proxy": kubernetes, "containerd": "v2.4.2"},
		"w-1":  {"kubelet": kubernetes, "kube-proxy": kubernetes, "containerd": "v2.4.2"},
	}
}

// with changes what one unit runs.
func with(m map[string]map[string]string, host, unit, version string) map[string]map[string]string {
	if m[host] == nil {
		m[host] = map[string]string{}
	}
	m[host] = maps.Clone(m[host])
	m[host][unit] = version
	return m
}

var supported = []string{"v1.36.1", "v1.35.4", "v1.35.1", "v1.34.4", "v1.34.2", "v1.35.9-rc.1"}

func TestWaysThatAreOpen(t *testing.T) {
	base := func() map[string]map[string]string { return live("v1.33.4", "v3.6.16") }
	for name, c := range map[string]struct {
		r     upgrade.Request
		stops []string
	}{
		"nothing runs":     {upgrade.Request{To: of("v1.34.2", "v3.6.16")}, nil},
		"all is as wanted": {upgrade.Request{Running: base(), To: of("v1.33.4", "v3.6.16")}, nil},
		"one minor":        {upgrade.Request{Running: base(), To: of("v1.34.2", "v3.6.16")}, []string{"v1.34.2"}},
		"a patch":          {upgrade.Request{Running: base(), To: of("v1.33.9", "v3.6.16")}, []string{"v1.33.9"}},
		"older patch":      {upgrade.Request{Running: base(), To: of("v1.33.2", "v3.6.16"), Older: true}, []string{"v1.33.2"}},
		"candidate":        {upgrade.Request{Running: base(), To: of("v1.34.0-rc.1", "v3.6.16"), Prerelease: true}, []string{"v1.34.0-rc.1"}},
		"half done candidate goes on": {upgrade.Request{Running: with(base(), "cp-1", "kube-apiserver", "v1.34.0-rc.1"), To: of("v1.34.0-rc.1", "v3.6.16")},
			[]string{"v1.34.0-rc.1"}},
		"two minors in a chain":            {upgrade.Request{Running: base(), To: of("v1.35.1", "v3.6.16"), Chain: true, Supported: supported}, []string{"v1.34.4", "v1.35.1"}},
		"a worker three minors behind":     {upgrade.Request{Running: with(base(), "w-1", "kubelet", "v1.31.2"), To: of("v1.34.2", "v3.6.16")}, []string{"v1.34.2"}},
		"a half-done one goes on":          {upgrade.Request{Running: with(base(), "cp-2", "kube-apiserver", "v1.34.2"), To: of("v1.34.2", "v3.6.16")}, []string{"v1.34.2"}},
		"a half-done one to a third patch": {upgrade.Request{Running: with(base(), "cp-2", "kube-apiserver", "v1.34.2"), To: of("v1.34.4", "v3.6.16")}, []string{"v1.34.4"}},
		"etcd 3.5.26 to 3.6":               {upgrade.Request{Running: live("v1.33.4", "v3.5.26"), To: of("v1.34.2", "v3.6.16")}, []string{"v1.34.2"}},
		"only etcd is left":                {upgrade.Request{Running: live("v1.34.2", "v3.6.10"), To: of("v1.34.2", "v3.6.16")}, []string{"v1.34.2"}},
	} {
		got, err := upgrade.Find(c.r)
		if err != nil || !slices.Equal(got.Stops, c.stops) {
			t.Errorf("%s: stops %v, error %v, want %v", name, got.Stops, err, c.stops)
		}
	}
}

func TestWaysThatAreClosed(t *testing.T) {
	base := func() map[string]map[string]string { return live("v1.33.4", "v3.6.16") }
	for name, c := range map[string]struct {
		r    upgrade.Request
		want string
	}{
		"two minors": {upgrade.Request{Running: base(), To: of("v1.35.1", "v3.6.16"), Supported: supported},
			"cp-1 runs kube-apiserver v1.33.4, and v1.35.1 is 2 minor versions ahead: one at a time, so v1.34 is next; the way is v1.34.4, v1.35.1"},
		"a stop that is missing": {upgrade.Request{Running: base(), To: of("v1.35.1", "v3.6.16"), Supported: supported[:3], Chain: true}, "no release of v1.34"},
		"older patch":            {upgrade.Request{Running: base(), To: of("v1.33.2", "v3.6.16")}, "older patch version"},
		"older minor": {upgrade.Request{Running: base(), To: of("v1.32.9", "v3.6.16"), Older: true},
			"cp-1 runs kube-apiserver v1.33.4, and v1.32.9 is an older minor version"},
		"candidate": {upgrade.Request{Running: base(), To: of("v1.34.0-rc.1", "v3.6.16")}, "v1.34.0-rc.1 is a pre-release"},
		"a worker four minors behind": {upgrade.Request{Running: with(base(), "w-1", "kubelet", "v1.30.2"), To: of("v1.34.2", "v3.6.16")},
			"w-1 runs kubelet v1.30.2, 4 minor versions below v1.34.2: nodes may be 3 behind; bring it to v1.31 first"},
		"the lowest API server decides": {upgrade.Request{Running: with(base(), "cp-2", "kube-apiserver", "v1.34.2"), To: of("v1.35.1", "v3.6.16"), Supported: supported},
			"one at a time, so v1.34 is next"},
		"the highest decides about back": {upgrade.Request{Running: with(base(), "cp-2", "kube-scheduler", "v1.34.2"), To: of("v1.33.9", "v3.6.16")},
			"cp-2 runs kube-scheduler v1.34.2, and v1.33.9 is an older minor version"},
		"a kubelet that is newer":  {upgrade.Request{Running: with(base(), "w-1", "kubelet", "v1.35.0"), To: of("v1.34.2", "v3.6.16")}, "w-1 runs kubelet v1.35.0"},
		"etcd back":                {upgrade.Request{Running: live("v1.33.4", "v3.7.3"), To: of("v1.34.2", "v3.6.16")}, "etcd never goes back"},
		"etcd older patch":         {upgrade.Request{Running: live("v1.33.4", "v3.6.17"), To: of("v1.34.2", "v3.6.16")}, "etcd v3.6.16, an older patch"},
		"etcd two minors":          {upgrade.Request{Running: live("v1.33.4", "v3.5.30"), To: of("v1.34.2", "v3.7.3")}, "etcd moves one minor version at a time"},
		"etcd from an early 3.5":   {upgrade.Request{Running: live("v1.33.4", "v3.5.25"), To: of("v1.34.2", "v3.6.16")}, "can follow v3.5.26 and later only"},
		"containerd that is older": {upgrade.Request{Running: with(base(), "w-1", "containerd", "v2.5.0"), To: of("v1.34.2", "v3.6.16")}, "containerd v2.4.2, which is older"},
	} {
		_, err := upgrade.Find(c.r)
		refused, ok := errors.AsType[*upgrade.RefusedError](err)
		if !ok || refused.ExitCode() != 3 || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

func TestAllReasonsComeAtOnce(t *testing.T) {
	running := with(live("v1.33.4", "v3.5.2"), "w-1", "kubelet", "v1.30.2")
	_, err := upgrade.Find(upgrade.Request{Running: running, To: of("v1.34.0-rc.1", "v3.6.16")})
	refused, ok := errors.AsType[*upgrade.RefusedError](err)
	if !ok || len(refused.Reasons) != 3 {
		t.Errorf("error %v, want three reasons", err)
	}
}

func TestChangesNameEveryComponentInTheOrderOfTheUpgrade(t *testing.T) {
	got, err := upgrade.Find(upgrade.Request{Running: with(live("v1.33.4", "v3.6.16"), "cp-2", "kube-apiserver", "v1.34.2"), To: of("v1.34.2", "v3.6.17")})
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, c := range got.Changes {
		order = append(order, c.Component+" "+strings.Join(c.From, "+")+" > "+c.To)
	}
	want := []string{"etcd v3.6.16 > v3.6.17", "kube-apiserver v1.33.4+v1.34.2 > v1.34.2", "kube-controller-manager v1.33.4 > v1.34.2",
		"kube-scheduler v1.33.4 > v1.34.2", "kubelet v1.33.4 > v1.34.2", "kube-proxy v1.33.4 > v1.34.2"}
	if !slices.Equal(order, want) {
		t.Errorf("changes %q, want %q", order, want)
	}
}
