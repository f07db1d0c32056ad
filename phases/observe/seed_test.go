package observe

import (
	"os"
	"path/filepath"
	"testing"

	"clusterctl/components/resource"
)

func TestASeedCountsUntilWhatItsFirstStartMakesIsThere(t *testing.T) {
	dir := t.TempDir()
	seed := resource.Seed{File: resource.File{Host: "h", Path: filepath.Join(dir, "seed"), Mode: 0o644, Content: []byte("wanted")}, Until: filepath.Join(dir, "member")}
	if err := os.WriteFile(seed.File.Path, []byte("other"), 0o644); err != nil {
		t.Fatal(err)
	}
	met := func() bool {
		r, _ := ask(t, []resource.Resource{seed}, false)
		facts, _ := r.facts([]resource.Resource{seed})
		return facts[seed.Key()].Digest == resource.SeedOver
	}
	if met() {
		t.Error("another seed is taken for the wanted one before the first start")
	}
	if err := os.Mkdir(seed.Until, 0o700); err != nil {
		t.Fatal(err)
	}
	if !met() {
		t.Error("the seed is looked at after the first start")
	}
}

// at gives a path line as find prints it, with the times in seconds.
func at(path, times string) string {
	return path + "\tf\t644\troot:root\t1\t" + times + "\t" + times + "\t\n"
}

func TestAUnitThatSomebodyElseStartedIsKnownByWhatItRead(t *testing.T) {
	unit := resource.Unit{Host: "h", Name: "x.service", Inputs: []string{"in"}, Reads: []string{"/etc/x.conf"}}
	for name, c := range map[string]struct {
		stamp, start, file string
		want               string
	}{
		"as we started it":                             {"30.5", "30.2", "20.0", unit.Digest()},
		"a file was fixed, the process is ours":        {"30.5", "30.2", "40.0", unit.Digest()},
		"started anew by a crash or a boot":            {"30.5", "50.0", "20.0", unit.Digest()},
		"changed, started by hand, then put back":      {"30.5", "50.0", "60.0", resource.Touched},
		"started anew, and a file is gone":             {"30.5", "50.0", "", resource.Touched},
		"ours, and a file is gone":                     {"30.5", "30.2", "", unit.Digest()},
		"begun by us and started after it was stamped": {"30.5", "30.6", "20.0", unit.Digest()},
	} {
		read := at("/etc/x.conf", c.file)
		if c.file == "" {
			read = ""
		}
		out := "@\tunit\nId=x.service\nActiveState=active\nUnitFileState=enabled\nNeedDaemonReload=no\n" +
			"@\tpath\n" + at(stampPath("units", "x.service"), c.stamp) + at(invocationPath("x.service"), c.start) + read +
			"@\tfile\n" + stampPath("units", "x.service") + ":" + unit.Digest() + "\n"
		facts, _ := parse(out).facts([]resource.Resource{unit})
		if got := facts[unit.Key()]; got.Digest != c.want || !got.Active || got.Detail != "enabled" {
			t.Errorf("%s: %+v, want digest %s", name, got, c.want)
		}
	}
}

func TestAUnitFileThatSystemdHasNotReadIsSeen(t *testing.T) {
	unit := resource.Unit{Host: "h", Name: "x.service"}
	facts, _ := parse("@\tunit\nId=x.service\nActiveState=active\nUnitFileState=enabled\nNeedDaemonReload=yes\n").facts([]resource.Resource{unit})
	if got := facts[unit.Key()].Detail; got != resource.NotReloaded {
		t.Errorf("detail %q", got)
	}
}

func TestAHostIsVacantWithoutTheClustersIdentity(t *testing.T) {
	want := resource.Vacant{Host: "h", UID: "uid-1"}
	for text, gone := range map[string]bool{"": true, identityPath + `:{"uid":"uid-1"}`: false, identityPath + `:{"uid":"other"}`: true} {
		facts, _ := parse("@\tfile\n" + text + "\n").facts([]resource.Resource{want})
		if got := facts[want.Key()] == resource.Gone(); got != gone {
			t.Errorf("%q: vacant is %v", text, got)
		}
	}
}
