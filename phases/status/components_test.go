package status

import (
	"slices"
	"testing"

	"clusterctl/components/release"
	"clusterctl/phases"
	"clusterctl/provision/spec"
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

// TestAnEmulatingControlPlaneWantsTheFormerReleaseBesideIt.
func TestAnEmulatingControlPlaneWantsTheFormerReleaseBesideIt(t *testing.T) {
	c := &phases.Cluster{Spec: &spec.Cluster{}}
	c.Spec.Spec.UpgradePolicy.Emulate = true
	var err error
	if c.Release, err = release.For("v1.37.2"); err != nil {
		t.Fatal(err)
	}
	s := Status{Hosts: []Host{{Name: "cp-1", answer: "disk /opt/clusterctl/kubernetes/v1.36.3/\ndisk /opt/clusterctl/kubernetes/v1.37.2/\ndisk /opt/clusterctl/etcd/v3.6.16/\n" +
		"running etcd /opt/clusterctl/etcd/v3.6.16/etcd\nrunning kube-apiserver /opt/clusterctl/kubernetes/v1.37.2/kubernetes\nemulating kube-apiserver 1.36\n" +
		"running kubelet /opt/clusterctl/kubernetes/v1.36.3/kubernetes\n"}}}
	s.readComponents(c, t.Errorf)
	const both = "v1.36.3, v1.37.2"
	want := []Component{{"etcd", "v3.6.16", "v3.6.16", "v3.6.16"}, {"kube-apiserver", both, "v1.37.2 as v1.36", "v1.37.2 as v1.36"}, {"kubelet", both, "v1.36.3", "v1.36.3"}}
	if got := s.Hosts[0].Components; !slices.Equal(got, want) || s.Former != "v1.36.3" {
		t.Errorf("former %q, components %+v, want %+v", s.Former, got, want)
	}
}
