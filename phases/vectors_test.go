package phases_test

import (
	"slices"
	"strings"
	"testing"

	"clusterctl/phases"
)

// TestEveryComponentsArgumentsAreAsked, and the feature gates of those that read them late are
// asked of the API server, which shares their list.
func TestEveryComponentsArgumentsAreAsked(t *testing.T) {
	c := clusterOf(t, sshSpec(newVersion, 3, 1, "  kubernetes: {kubeletArgs: {feature-gates: 'A=true', v: '2'}}\n"), newSecrets(t))
	vectors, err := phases.Vectors(c, map[string]string{"kubernetes": "/bundle/kubernetes", "etcd": "/bundle/etcd"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range vectors {
		got = append(got, v.Component+" "+v.Program+" "+v.Field)
	}
	const k = " /bundle/kubernetes spec.kubernetes."
	want := []string{"etcd /bundle/etcd spec.etcd.args", "kube-apiserver" + k + "apiServerArgs", "kube-controller-manager" + k + "controllerManagerArgs",
		"kube-scheduler" + k + "schedulerArgs", "kubelet" + k + "kubeletArgs", "kube-proxy" + k + "kubeProxyArgs", "kube-apiserver" + k + "kubeletArgs"}
	if !slices.Equal(got, want) {
		t.Errorf("vectors\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	last := vectors[len(vectors)-1]
	if !slices.Equal(last.Args, []string{"--feature-gates=A=true"}) {
		t.Errorf("the API server is asked for %v", last.Args)
	}
	if !slices.Contains(vectors[4].Args, "--v=2") || !slices.Contains(vectors[4].Args, "--hostname-override=cp-1") {
		t.Errorf("the kubelet is asked for %v", vectors[4].Args)
	}
}
