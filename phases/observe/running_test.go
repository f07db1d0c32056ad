package observe

import (
	"maps"
	"testing"
	"time"
)

// TestRunningVersionsAreThoseOfTheProcesses: a unit file that was written since says nothing of
// the program that runs.
func TestRunningVersionsAreThoseOfTheProcesses(t *testing.T) {
	answer := "@\tunit\nId=kubelet.service\nMainPID=12\nActiveState=active\n\nMainPID=13\nId=kube-proxy.service\n\nId=etcd.service\nMainPID=0\n" +
		"\nId=sshd.service\nMainPID=14\n\n@\tfile\n" +
		"/proc/12/cmdline:/opt/clusterctl/kubernetes/v1.36.3/kubelet\x00--config=/a\n" +
		"/proc/13/cmdline:/opt/clusterctl/kubernetes/v1.37.2/kube-proxy\x00\n/proc/14/cmdline:/usr/sbin/sshd\x00\n"
	got := parse(answer).report("h", time.Unix(1, 0), time.Unix(2, 0)).Running
	if want := map[string]string{"kubelet": "v1.36.3", "kube-proxy": "v1.37.2"}; !maps.Equal(got, want) {
		t.Errorf("running %v, want %v", got, want)
	}
}
