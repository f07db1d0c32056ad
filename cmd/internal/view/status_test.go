package view

import (
	"testing"
	"time"
)

func exampleStatus() Status {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.FixedZone("CET", 3600))
	return Status{
		At:                at,
		Cluster:           "dev",
		KubernetesVersion: "v1.37.2",
		UnfinishedRun:     "upgrade to v1.37.2, begun 2026-03-01 10:12, stopped in phase apiserver",
		Hosts: []HostStatus{
			{"cp-1", "control-plane", "10.89.0.2", "yes", "Ready", "v1.37.2", "v1.37.2", "apiserver", at.Add(364*24*time.Hour + time.Hour), []ComponentVersion{{"etcd", "v3.7.3", "v3.7.3", "v3.7.3"}}},
			{"cp-2", "control-plane", "10.89.0.3", "yes", "NotReady", "v1.37.2", "v1.36.4", "etcd-peer", at.Add(-30 * time.Hour), []ComponentVersion{{"kubelet", "v1.36.4, v1.37.2", "v1.36.4", "v1.37.2"}}},
			{"worker-1", "worker", "worker-1.some.long.domain.example.org", "dial tcp 10.89.0.4:22: connect: connection refused", "", "", "", "", time.Time{}, nil},
		},
		Etcd: []EtcdMember{
			{"cp-1", true, 184467, 1610612736, 8 << 30, true, "3.6.5", nil},
			{"cp-2", false, 184460, 20 << 20, 8 << 30, false, "", []string{"NOSPACE"}},
		},
		API:      []APIServer{{"cp-1", "ok"}, {"cp-2", "etcd failed: reason withheld"}},
		Problems: []string{"cp-2: the certificate etcd-peer ended 30 h ago; run \"clusterctl certs rotate\"", "worker-1 cannot be reached"},
	}
}

func TestStatus(t *testing.T) {
	goldens(t, "status", func(o Output) error { return o.Status(exampleStatus()) }, "txt", "80.txt", "120.txt", "color.txt", "json")
}

func TestStatusOfNothingYet(t *testing.T) {
	s := Status{At: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Cluster: "dev", KubernetesVersion: "v1.37.2"}
	goldens(t, "status-empty", func(o Output) error { return o.Status(s) }, "txt", "json")
}
