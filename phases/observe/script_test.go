package observe

import (
	"bytes"
	"os/exec"
	"testing"
	"time"

	"clusterctl/components/resource"
)

// ask runs the script on this machine.
func ask(t *testing.T, want []resource.Resource) (raw, Report) {
	t.Helper()
	before := time.Now()
	cmd := exec.Command("sh", "-c", script, "probe")
	cmd.Stdin = bytes.NewReader(request(want, true))
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	r := parse(string(out))
	return r, r.report("here", before, time.Now())
}

func TestScriptDescribesThisMachine(t *testing.T) {
	_, rep := ask(t, nil)
	t.Logf("%+v", rep)
}
