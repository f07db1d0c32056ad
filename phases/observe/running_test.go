package observe

import (
	"maps"
	"testing"
	"time"
)

// TestRunningVersionsAreThoseOfTheProcesses: a unit file that was written since says nothing of
// the program that runs.
func TestRunningVersionsAreThoseOfTheProcesses(t *testing.T) {
	const plane = "/opt/clusterctl/kubernetes/v1.37.2/kube-apiserver\x00--bind-address=0.0.0.0\x00--emulated-version=1.36\x00--v=2\x00"
	answer := "@\tunit\nId=kubelet.service\nMainPID=12\nActiveState=active\n\nMainPID=13\nId=kube-proxy.service\n\nMainPID=15\nId=kube-apiserver.service\n\nId=etcd.service\nMainPID=0\n" +
		"\nId=sshd.service\nMainPID=14\n\n@\tfile\n" +
		"/proc/12/cmdline:/opt/clusterctl/kubernetes/v1.36.3/kubelet\x00--config=/a\n" +
		"/proc/15/cmdline:" + plane + "\n/proc/13/cmdline:/opt/clusterctl/kubernetes/v1.37.2/kube-proxy\x00\n/proc/14/cmdline:/usr/sbin/sshd\x00\n"
	got := parse(answer).report("h", time.Unix(1, 0), time.Unix(2, 0))
	if want := map[string]string{"kubelet": "v1.36.3", "kube-proxy": "v1.37.2", "kube-apiserver": "v1.37.2"}; !maps.Equal(got.Running, want) {
		t.Errorf("running %v, want %v", got.Running, want)
	}
	if want := map[string]string{"kube-apiserver": "1.36"}; !maps.Equal(got.Emulating, want) {
		t.Errorf("emulating %v, want %v", got.Emulating, want)
	}
}
