package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"

	"clusterctl/components/resource"
	"clusterctl/provision/inventory"
)

func TestDiffOfAUnit(t *testing.T) {
	unit := resource.Unit{Host: "a", Name: "x.service", Inputs: []string{"in"}}
	good := unit.Digest()
	for name, c := range map[string]struct {
		have resource.Fact
		want Verb
	}{
		"absent":                        {resource.Fact{}, Start},
		"runs as wanted":                {resource.Fact{Exists: true, Active: true, Digest: good, Detail: Enabled}, ""},
		"stopped":                       {resource.Fact{Exists: true, Digest: good, Detail: Enabled}, Start},
		"stopped with old inputs":       {resource.Fact{Exists: true, Digest: "old", Detail: Enabled}, Start},
		"runs with old inputs":          {resource.Fact{Exists: true, Active: true, Digest: "old", Detail: Enabled}, Restart},
		"runs and was never stamped":    {resource.Fact{Exists: true, Active: true, Detail: Enabled}, Restart},
		"runs but not at the next boot": {resource.Fact{Exists: true, Active: true, Digest: good, Detail: "disabled"}, Start},
		"old inputs and not enabled":    {resource.Fact{Exists: true, Active: true, Digest: "old", Detail: "disabled"}, Restart},
	} {
		steps := Diff([]resource.Resource{unit}, resource.Facts{unit.Key(): c.have})
		var got Verb
		if len(steps) > 0 {
			got = steps[0].Verb
			if steps[0].Why == "" {
				t.Errorf("%s: no reason", name)
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if left := Diff([]resource.Resource{unit}, After(resource.Facts{unit.Key(): c.have}, Step{Key: unit.Key(), Verb: got, Want: unit})); len(left) != 0 {
			t.Errorf("%s: after the step there is %s to do", name, left[0].Verb)
		}
	}
}

func TestDiffOfOtherResources(t *testing.T) {
	file := resource.File{Host: "a", Path: "/f", Mode: 0o600, Content: []byte("x")}
	sysctl := resource.Sysctl{Host: "a", Name: "net.ipv4.ip_forward", Value: "1"}
	for name, c := range map[string]struct {
		want resource.Resource
		have resource.Fact
		verb Verb
		why  string
	}{
		"file absent":    {file, resource.Fact{}, Create, "absent"},
		"file as wanted": {file, resource.Fact{Exists: true, Digest: file.Digest()}, "", ""},
		"file differs":   {file, resource.Fact{Exists: true, Digest: "other"}, Update, "content, mode or owner differs"},
		"file detail":    {file, resource.Fact{Exists: true, Digest: "other", Detail: "is a directory"}, Update, "is a directory"},
		"sysctl differs": {sysctl, resource.Fact{Exists: true, Digest: "0"}, Update, `is "0"`},
	} {
		steps := Diff([]resource.Resource{c.want}, resource.Facts{c.want.Key(): c.have})
		if c.verb == "" {
			if len(steps) != 0 {
				t.Errorf("%s: %s", name, steps[0].Verb)
			}
			continue
		}
		if len(steps) != 1 || steps[0].Verb != c.verb || steps[0].Why != c.why {
			t.Errorf("%s: %+v, want %s because %s", name, steps, c.verb, c.why)
		}
	}
}

func TestAfterDoesNotChangeItsInput(t *testing.T) {
	file := resource.File{Host: "a", Path: "/f"}
	have := resource.Facts{file.Key(): {Exists: true, Digest: "old"}}
	before := maps.Clone(have)
	next := After(have, Step{Key: file.Key(), Verb: Update, Want: file})
	if !maps.Equal(have, before) || next[file.Key()].Digest != file.Digest() {
		t.Errorf("before %v, after %v", have, next)
	}
}

func TestBatches(t *testing.T) {
	var inv inventory.Inventory
	for i := range 3 {
		inv.Hosts = append(inv.Hosts, inventory.Host{Name: fmt.Sprintf("cp-%d", i+1), Role: inventory.ControlPlane})
	}
	for i := range 5 {
		inv.Hosts = append(inv.Hosts, inventory.Host{Name: fmt.Sprintf("w-%d", i+1), Role: inventory.Worker})
	}
	step := func(host string, verb Verb) Step {
		u := resource.Unit{Host: host, Name: "x.service"}
		return Step{Key: u.Key(), Verb: verb, Want: u}
	}
	all := func(verb Verb) (out []Step) {
		for _, h := range slices.Backward(inv.Hosts) { // the steps' order of hosts does not matter
			out = append(out, step(h.Name, verb))
		}
		return out
	}
	for name, c := range map[string]struct {
		steps []Step
		most  int
		want  string
		apart string // hosts whose names have it
	}{
		"nothing":         {nil, 1, "[]", ""},
		"starts together": {all(Start), 1, "[[cp-1 cp-2 cp-3 w-1 w-2 w-3 w-4 w-5]]", ""},
		"restarts":        {all(Restart), 2, "[[cp-1] [cp-2] [cp-3] [w-1 w-2] [w-3 w-4] [w-5]]", ""},
		"never zero":      {all(Restart), 0, "[[cp-1] [cp-2] [cp-3] [w-1] [w-2] [w-3] [w-4] [w-5]]", ""},
		"starts first":    {append(all(Restart)[4:], step("w-4", Start)), 2, "[[w-4] [cp-1] [cp-2] [cp-3] [w-1]]", ""},
		"the cluster":     {append(all(Restart)[5:], step("", Update)), 2, "[[] [cp-1] [cp-2] [cp-3]]", ""},
		"both on a host":  {[]Step{step("cp-1", Start), step("cp-1", Restart), step("cp-2", Start)}, 1, "[[cp-2] [cp-1]]", ""},
		"some apart":      {append(all(Start)[:7], step("cp-1", Restart)), 1, "[[cp-2 w-1 w-2 w-3 w-4 w-5] [cp-3] [cp-1]]", "cp-1 cp-2 cp-3"},
	} {
		var got [][]string
		n := 0
		for _, b := range Batches(c.steps, inv, Order{Unavailable: c.most, Apart: func(name string) bool { return name != "" && strings.Contains(c.apart, name) }}) {
			got = append(got, b.Hosts)
			n += b.Len()
		}
		if fmt.Sprint(got) != c.want || n != len(c.steps) {
			t.Errorf("%s: %v with %d steps, want %s with %d", name, got, n, c.want, len(c.steps))
		}
	}
}

func TestUnavailableIsNeverNoneAndNeverAll(t *testing.T) {
	for _, c := range []struct {
		total int
		most  string
		want  int
	}{{0, "10%", 1}, {1, "10%", 1}, {1, "5", 1}, {2, "100%", 1}, {2, "2", 1}, {9, "10%", 1}, {19, "10%", 1}, {20, "10%", 2}, {1000, "10%", 100}, {3, "100%", 2}, {5, "3", 3}} {
		if got, err := Unavailable(c.total, intstr.Parse(c.most)); err != nil || got != c.want {
			t.Errorf("%s of %d hosts: %d, %v, want %d", c.most, c.total, got, err, c.want)
		}
	}
}

// TestBatchesDrainWorkersAndOpenThemBehindTheirGates: what a host's pods would feel stands between
// the drain and a batch of its own that opens the node.
func TestBatchesDrainWorkersAndOpenThemBehindTheirGates(t *testing.T) {
	inv := inventory.Inventory{Hosts: []inventory.Host{{Name: "cp-1", Role: inventory.ControlPlane}, {Name: "cp-2", Role: inventory.ControlPlane}}}
	for i := range 3 {
		inv.Hosts = append(inv.Hosts, inventory.Host{Name: fmt.Sprintf("w-%d", i+1), Role: inventory.Worker})
	}
	var steps []Step
	for _, h := range inv.Hosts {
		u := resource.Unit{Host: h.Name, Name: "kubelet.service"}
		steps = append(steps, Step{Key: u.Key(), Verb: Restart, Want: u})
	}
	// An earlier run drained w-3 and was killed.
	open := resource.Scheduling{Host: "w-3"}
	steps = append(steps, Step{Key: open.Key(), Verb: Uncordon, Want: open})
	got := ""
	for _, b := range Batches(steps, inv, Order{Unavailable: 2, Last: []string{"cp-1"}, Drain: func(string) bool { return true }}) {
		for _, name := range b.Hosts {
			got += name + ":"
			for _, s := range b.Steps[name] {
				got += " " + string(s.Verb)
			}
			got += "; "
		}
		got += "| "
	}
	want := "cp-2: restart; | cp-1: restart; | w-3: drain restart; w-1: drain restart; | w-3: uncordon; w-1: uncordon; | w-2: drain restart; | w-2: uncordon; | "
	if got != want {
		t.Errorf("batches\n%s\nwant\n%s", got, want)
	}
}

func TestANodeIsOpenedOnlyWhenTheCordonIsOurs(t *testing.T) {
	open := resource.Scheduling{Host: "w"}
	for _, c := range []struct {
		have resource.Fact
		want int
	}{{resource.Fact{}, 0}, {resource.Fact{Exists: true, Digest: "open"}, 0}, {resource.Fact{Exists: true, Digest: "drained"}, 1}} {
		steps := Diff([]resource.Resource{open}, resource.Facts{open.Key(): c.have})
		if len(steps) != c.want || c.want == 1 && steps[0].Verb != Uncordon {
			t.Errorf("%+v: %v", c.have, steps)
		}
	}
}
