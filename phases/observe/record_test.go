package observe

import (
	"testing"

	"clusterctl/components/resource"
)

func TestARecordMayHoldMoreThanIsPutThereNow(t *testing.T) {
	want := resource.Record{Host: "h", Paths: []string{"/etc/a", "/etc/b"}}
	line := func(path string) string { return resource.RecordPath + ":" + path + "\n" }
	for text, good := range map[string]bool{
		"": false, line("/etc/a"): false, line("/etc/a") + line("/etc/b"): true, line("/etc/a") + line("/etc/b") + line("/etc/of-an-earlier-spec"): true,
	} {
		facts, _ := parse("@\tfile\n" + text).facts([]resource.Resource{want})
		if got := facts[want.Key()].Digest == want.Digest(); got != good {
			t.Errorf("%q: good is %v", text, got)
		}
	}
}
