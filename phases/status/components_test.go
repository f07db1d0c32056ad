package status

import (
	"slices"
	"testing"

	"clusterctl/components/release"
)

// TestComponentsShowWhatIsOnDiskRunsAndIsWanted on a host that is half way through an upgrade.
func TestComponentsShowWhatIsOnDiskRunsAndIsWanted(t *testing.T) {
	text := "disk /opt/clusterctl/etcd/v3.6.16/\ndisk /opt/clusterctl/etcd/v3.7.3/\ndisk /opt/clusterctl/kubernetes/v1.36.3/\ndisk /opt/clusterctl/kubernetes/v1.37.2/\n" +
		"running etcd /opt/clusterctl/etcd/v3.7.3/etcd\nrunning kubelet /opt/clusterctl/kubernetes/v1.36.3/kubernetes\n"
	r, err := release.For("v1.37.2")
	if err != nil {
		t.Fatal(err)
	}
	want := []Component{{"etcd", "v3.6.16, v3.7.3", "v3.7.3", "v3.7.3"}, {"kubelet", "v1.36.3, v1.37.2", "v1.36.3", "v1.37.2"}}
	if got := componentVersions(text, r); !slices.Equal(got, want) {
		t.Errorf("components %+v, want %+v", got, want)
	}
}
