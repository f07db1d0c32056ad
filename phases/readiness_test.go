package phases

import (
	"slices"
	"testing"

	"clusterctl/phases/upgrade"
)

func TestDeprecatedAPIsAreReadOutOfAllMetrics(t *testing.T) {
	const text = `# HELP apiserver_requested_deprecated_apis [STABLE] Gauge of deprecated APIs that have been requested
# TYPE apiserver_requested_deprecated_apis gauge
apiserver_requested_deprecated_apis{group="",removed_release="",resource="endpoints",subresource="",version="v1"} 1
apiserver_requested_deprecated_apis{group="flowcontrol.apiserver.k8s.io",removed_release="1.37",resource="flowschemas",subresource="",version="v1beta3"} 1
apiserver_request_total{code="200"} 7
`
	got, err := deprecatedAPIs([]byte(text))
	want := []upgrade.API{
		{Version: "v1", Resource: "endpoints"},
		{Group: "flowcontrol.apiserver.k8s.io", Version: "v1beta3", Resource: "flowschemas", Removed: "1.37"},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("APIs %v, error %v", got, err)
	}
	if got, err := deprecatedAPIs([]byte("apiserver_request_total 1\n")); err != nil || len(got) != 0 {
		t.Errorf("APIs %v, error %v, want none", got, err)
	}
}
