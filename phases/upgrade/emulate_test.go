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

var emulators = []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"}

// soaking is a cluster whose control plane runs v1.34.2 and emulates v1.33.
func soaking() (running, emulating map[string]map[string]string) {
	running, emulating = live("v1.33.4", "v3.6.16"), map[string]map[string]string{}
	for _, unit := range emulators {
		running, emulating = with(running, "cp-1", unit, "v1.34.2"), with(emulating, "cp-1", unit, "1.33")
	}
	return running, emulating
}

// plus is a copy of m with another version of one unit.
func plus(m map[string]map[string]string, host, unit, version string) map[string]map[string]string {
	return with(maps.Clone(m), host, unit, version)
}

// emulated is a release beside the one that it comes from.
func emulated(to, former release.Release) release.Release {
	to.Former = &former
	return to
}

func TestWhatRunsTellsWhichVersionIsEmulated(t *testing.T) {
	running, emulating := soaking()
	to := of("v1.34.2", "v3.6.16")
	for name, c := range map[string]struct {
		r    upgrade.Request
		want string
	}{
		"nothing runs":                      {upgrade.Request{To: to}, ""},
		"the way begins":                    {upgrade.Request{Running: live("v1.33.4", "v3.6.16"), To: to}, "v1.33.4"},
		"an API server has moved":           {upgrade.Request{Running: with(live("v1.33.4", "v3.6.16"), "cp-1", "kube-apiserver", "v1.34.2"), Emulating: emulating, To: to}, "v1.33.4"},
		"the control plane emulates":        {upgrade.Request{Running: running, Emulating: emulating, To: to}, "v1.33.4"},
		"no API server runs":                {upgrade.Request{Running: map[string]map[string]string{"w-1": {"kubelet": "v1.33.4"}}, To: to}, "v1.33.4"},
		"a worker is further behind":        {upgrade.Request{Running: with(live("v1.33.4", "v3.6.16"), "w-1", "kubelet", "v1.31.2"), To: to}, "v1.33.4"},
		"all runs as wanted":                {upgrade.Request{Running: live("v1.34.2", "v3.6.16"), To: to}, ""},
		"raised, and a worker is behind":    {upgrade.Request{Running: with(live("v1.34.2", "v3.6.16"), "w-1", "kubelet", "v1.33.4"), To: to}, ""},
		"a patch of what runs":              {upgrade.Request{Running: live("v1.34.1", "v3.6.16"), To: to}, ""},
		"the way back":                      {upgrade.Request{Running: running, Emulating: emulating, To: of("v1.33.4", "v3.6.16")}, ""},
		"a raise that has begun on another": {upgrade.Request{Running: with(with(live("v1.33.4", "v3.6.16"), "cp-1", "kube-apiserver", "v1.34.2"), "cp-2", "kube-apiserver", "v1.34.2"), Emulating: emulating, To: to}, "v1.33.4"},
	} {
		if got, err := upgrade.Former(c.r); got != c.want || err != nil {
			t.Errorf("%s: %q, %v, want %q", name, got, err, c.want)
		}
	}
}

func TestWaysOfAControlPlaneThatEmulates(t *testing.T) {
	running, emulating := soaking()
	old := of("v1.33.4", "v3.6.16")
	next := of("v1.34.2", "v3.6.17")
	raised := with(with(live("v1.33.4", "v3.6.16"), "cp-1", "kube-apiserver", "v1.34.2"), "cp-2", "kube-apiserver", "v1.33.4")
	for name, c := range map[string]struct {
		r       upgrade.Request
		stops   []string
		refused string
	}{
		"begins":                             {upgrade.Request{Running: live("v1.33.4", "v3.6.16"), To: emulated(next, old)}, []string{"v1.34.2"}, ""},
		"stays":                              {upgrade.Request{Running: running, Emulating: emulating, To: emulated(next, old)}, nil, ""},
		"goes back":                          {upgrade.Request{Running: running, Emulating: emulating, To: old}, []string{"v1.33.4"}, ""},
		"goes back to a newer patch":         {upgrade.Request{Running: running, Emulating: emulating, To: of("v1.33.9", "v3.6.16")}, []string{"v1.33.9"}, ""},
		"is raised":                          {upgrade.Request{Running: running, Emulating: emulating, To: next}, []string{"v1.34.2"}, ""},
		"goes back two minors":               {upgrade.Request{Running: running, Emulating: emulating, To: of("v1.32.9", "v3.6.16")}, nil, "older minor version"},
		"skips the raise":                    {upgrade.Request{Running: running, Emulating: emulating, To: of("v1.35.1", "v3.6.16"), Supported: supported}, nil, "cp-1 runs kube-apiserver v1.34.2 as v1.33, and v1.35.1 is 2 minor versions ahead: one at a time, so v1.34 is next"},
		"a kubelet that is newer":            {upgrade.Request{Running: plus(running, "w-2", "kubelet", "v1.34.2"), Emulating: emulating, To: old}, nil, "w-2 runs kubelet v1.34.2, and v1.33.4 is an older minor version"},
		"an API server that is raised":       {upgrade.Request{Running: plus(running, "cp-2", "kube-apiserver", "v1.34.2"), Emulating: emulating, To: old}, nil, "cp-2 runs kube-apiserver v1.34.2, and v1.33.4 is an older minor version"},
		"etcd that is raised":                {upgrade.Request{Running: plus(running, "cp-2", "etcd", "v3.7.3"), Emulating: emulating, To: old}, nil, "etcd never goes back"},
		"emulates again after a raise began": {upgrade.Request{Running: raised, To: emulated(next, old)}, nil, "cp-1 runs kube-apiserver v1.34.2 and does not emulate v1.33 any more"},
		"emulates again behind etcd":         {upgrade.Request{Running: live("v1.33.4", "v3.7.3"), To: emulated(next, old)}, nil, "emulating v1.33 keeps etcd v3.6.16"},
	} {
		got, err := upgrade.Find(c.r)
		if c.refused != "" {
			if refused, ok := errors.AsType[*upgrade.RefusedError](err); !ok || !strings.Contains(refused.Error(), c.refused) {
				t.Errorf("%s: error %v, want %q", name, err, c.refused)
			}
		} else if err != nil || !slices.Equal(got.Stops, c.stops) {
			t.Errorf("%s: stops %v, error %v, want %v", name, got.Stops, err, c.stops)
		}
	}
}

func TestARaiseNamesWhatMoves(t *testing.T) {
	running, emulating := soaking()
	got, err := upgrade.Find(upgrade.Request{Running: running, Emulating: emulating, To: of("v1.34.2", "v3.6.16")})
	if err != nil || len(got.Changes) != 5 {
		t.Fatalf("changes %v, error %v", got.Changes, err)
	}
	if c := got.Changes[0]; c.Component != "kube-apiserver" || !slices.Equal(c.From, []string{"v1.34.2 as v1.33"}) || c.To != "v1.34.2" {
		t.Errorf("change %v", c)
	}
}
