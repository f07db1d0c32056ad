package observe

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"clusterctl/components/resource"
)

// ask runs the script on this machine, as Host does on another.
func ask(t *testing.T, want []resource.Resource, report bool) (raw, Report) {
	t.Helper()
	before := time.Now()
	cmd := exec.Command("sh", "-c", script, "probe")
	cmd.Stdin = bytes.NewReader(request(want, report))
	cmd.Stderr = t.Output()
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	r := parse(string(out))
	return r, r.report("here", before, time.Now())
}

func TestScriptDescribesThisMachine(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("hosts are Linux")
	}
	_, rep := ask(t, nil, true)
	hostname, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	if rep.OSType != "Linux" || rep.Hostname != hostname || rep.MemoryKiB == 0 || rep.CPUs == 0 || rep.DiskFreeKiB["/opt"] == 0 || rep.Mounts["/var/lib"] == "" {
		t.Errorf("report = %+v", rep)
	}
	if rep.Offset.Abs()-rep.OffsetError > 10*time.Millisecond {
		t.Errorf("this machine's clock is %v from itself, give or take %v", rep.Offset, rep.OffsetError)
	}
}

func TestScriptReportsFacts(t *testing.T) {
	dir := t.TempDir()
	file, strange, link := filepath.Join(dir, "file"), filepath.Join(dir, "a b*c"), filepath.Join(dir, "link")
	for _, name := range []string{file, strange} {
		if err := os.WriteFile(name, []byte("content\n"), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	r, _ := ask(t, []resource.Resource{
		resource.File{Host: "h", Path: file}, resource.File{Host: "h", Path: strange}, resource.File{Host: "h", Path: dir + "/none"},
		resource.Link{Host: "h", Path: link}, resource.Dir{Host: "h", Path: dir}, resource.Sysctl{Host: "h", Name: "kernel.ostype"},
	}, false)
	const sum = "434728a410a78f56fc1b5899c3593436e61ab0c731e9072d95e96db290205e53"
	if r.sums[file] != sum || r.sums[strange] != sum || len(r.sums) != 2 {
		t.Errorf("sums = %v", r.sums)
	}
	if p := r.paths[file]; p.kind != "f" || p.mode != 0o640 || p.size != 8 || p.mtime == "" || p.ctime == "" {
		t.Errorf("file = %+v", p)
	}
	if p := r.paths[link]; p.kind != "l" || p.target != file {
		t.Errorf("link = %+v", p)
	}
	if _, there := r.paths[dir+"/none"]; there || r.paths[dir].kind != "d" {
		t.Errorf("paths = %v", r.paths)
	}
	if v, ok := r.sysctl("kernel.ostype"); !ok || v != "Linux" {
		t.Errorf("kernel.ostype = %q, %v", v, ok)
	}
}
