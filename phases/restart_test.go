package phases_test

import (
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"clusterctl/components/resource"
	"clusterctl/phases"
	"clusterctl/phases/plan"
	"clusterctl/pki"
)

var (
	planes  = []string{"cp-1", "cp-2", "cp-3"}
	workers = []string{"worker-1", "worker-2"}
	every   = slices.Concat(planes, workers)
)

// TestAChangeRestartsExactlyWhatReadsIt says for each change of the spec which units restart
// where. Nothing else restarts, and nothing starts.
func TestAChangeRestartsExactlyWhatReadsIt(t *testing.T) {
	const version = "v1.37.2"
	for _, c := range []struct {
		name, lines string
		version     string
		want        map[string][]string // hosts by unit
	}{
		{name: "nothing"},
		{name: "API server argument", lines: "  kubernetes: {apiServerArgs: {event-ttl: 2h}}\n", want: map[string][]string{"kube-apiserver": planes}},
		{name: "controller manager argument", lines: "  kubernetes: {controllerManagerArgs: {concurrent-gc-syncs: '5'}}\n", want: map[string][]string{"kube-controller-manager": planes}},
		{name: "scheduler argument", lines: "  kubernetes: {schedulerArgs: {v: '2'}}\n", want: map[string][]string{"kube-scheduler": planes}},
		{name: "kubelet argument", lines: "  kubernetes: {kubeletArgs: {max-pods: '50'}}\n", want: map[string][]string{"kubelet": every}},
		{name: "proxy argument", lines: "  kubernetes: {kubeProxyArgs: {v: '2'}}\n", want: map[string][]string{"kube-proxy": every}},
		{name: "etcd quota", lines: "  etcd: {quota: 4Gi}\n", want: map[string][]string{"etcd": planes}},
		{name: "pod security", lines: "  kubernetes: {podSecurity: restricted}\n", want: map[string][]string{"kube-apiserver": planes}},
		{name: "encryption", lines: "  kubernetes: {encryption: aescbc}\n", want: map[string][]string{"kube-apiserver": planes}},
		{name: "proxy mode", lines: "  network: {kubeProxy: iptables}\n", want: map[string][]string{"kube-proxy": every, "kubelet": every, "flanneld": every}},
		{name: "swap", lines: "  host: {swap: allow}\n", want: map[string][]string{"kubelet": every}},
		{name: "upstream DNS", lines: "  network: {upstreamDNS: [192.0.2.53]}\n"},
		{name: "Kubernetes version", version: "v1.36.3", want: map[string][]string{
			"etcd": planes, "kube-apiserver": planes, "kube-controller-manager": planes, "kube-scheduler": planes, "kubelet": every, "kube-proxy": every}},
	} {
		t.Run(c.name, func(t *testing.T) {
			secrets := newSecrets(t)
			from := version
			if c.version != "" {
				from = c.version
			}
			facts := installed(t, clusterOf(t, sshSpec(from, 3, 2, ""), secrets))
			planned := planOf(t, clusterOf(t, sshSpec(version, 3, 2, c.lines), secrets), phases.Up(), facts)
			checkRestarts(t, planned, c.want)
			checkBatches(t, planned, 1)
		})
	}
}

func TestARenewedCertificateRestartsItsReadersAlone(t *testing.T) {
	for _, c := range []struct {
		host, name, unit string
		hosts            []string
	}{
		{"worker-1", pki.Kubelet, "kubelet", []string{"worker-1"}},
		{"worker-2", pki.KubeletServing, "kubelet", []string{"worker-2"}},
		{"cp-2", pki.APIServer, "kube-apiserver", []string{"cp-2"}},
		{"cp-2", pki.EtcdPeer, "etcd", []string{"cp-2"}},
		{"cp-3", pki.APIServerEtcdClient, "kube-apiserver", []string{"cp-3"}},
		{"cp-1", pki.SchedulerServing, "kube-scheduler", []string{"cp-1"}},
		{"", pki.KubeProxy, "kube-proxy", every},
		{"", pki.Flannel, "flanneld", every},
		{"", pki.Admin, "", nil},
	} {
		t.Run(c.host+" "+c.name, func(t *testing.T) {
			text := sshSpec("v1.37.2", 3, 2, "")
			secrets := newSecrets(t)
			facts := installed(t, clusterOf(t, text, secrets))
			s, inv := parse(t, text)
			table := pki.Table(s, inv)
			rest := slices.DeleteFunc(slices.Clone(table), func(r pki.Request) bool { return r.Host == c.host && r.Name == c.name })
			renewed := secrets.Clone()
			renewed.Prune(rest)
			if _, err := renewed.Ensure(table, noon, rand.Reader); err != nil {
				t.Fatal(err)
			}
			planned := planOf(t, valueOf(t, s, inv, renewed), phases.Up(), facts)
			want := map[string][]string{}
			if c.unit != "" {
				want[c.unit] = c.hosts
			}
			checkRestarts(t, planned, want)
			checkBatches(t, planned, 1)
		})
	}
}

func TestANewNameInTheSpecRestartsTheAPIServersOnce(t *testing.T) {
	secrets := newSecrets(t)
	facts := installed(t, clusterOf(t, sshSpec("v1.37.2", 3, 2, ""), secrets))
	text := strings.Replace(sshSpec("v1.37.2", 3, 2, "  kubernetes: {apiServerArgs: {event-ttl: 2h}}\n"), "controlPlane:\n", "controlPlane:\n    certSANs: [api.example.test]\n", 1)
	planned := planOf(t, clusterOf(t, text, secrets), phases.Up(), facts)
	checkRestarts(t, planned, map[string][]string{"kube-apiserver": planes}) // certificate and argument together: one restart a host
	checkBatches(t, planned, 1)
}

func TestAnotherWorkerRestartsNobody(t *testing.T) {
	secrets := newSecrets(t)
	facts := installed(t, clusterOf(t, sshSpec("v1.37.2", 3, 2, ""), secrets))
	planned := planOf(t, clusterOf(t, sshSpec("v1.37.2", 3, 3, ""), secrets), phases.Up(), facts)
	for _, s := range stepsOf(planned) {
		if s.Key.Host != "worker-3" && s.Key != (resource.Key{Kind: resource.KindNode, Name: "worker-3"}) {
			t.Errorf("a new worker changes %s %s", s.Verb, s.Key)
		}
	}
}

func TestWorkersRestartATenthAtATime(t *testing.T) {
	secrets := newSecrets(t)
	facts := installed(t, clusterOf(t, sshSpec("v1.37.2", 3, 25, ""), secrets))
	planned := planOf(t, clusterOf(t, sshSpec("v1.37.2", 3, 25, "  kubernetes: {kubeletArgs: {max-pods: '50'}}\n"), secrets), phases.Up(), facts)
	checkBatches(t, planned, 2)
	var sizes []int
	for _, b := range batchesOf(planned) {
		sizes = append(sizes, len(b.Hosts))
	}
	if want := []int{1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1}; !slices.Equal(sizes, want) {
		t.Errorf("batches of %v hosts, want %v", sizes, want)
	}
}

// TestWhatIsDownStartsBeforeAnythingIsRestarted: a host that is down is brought back first, so
// that a restart never takes the second of three.
func TestWhatIsDownStartsBeforeAnythingIsRestarted(t *testing.T) {
	secrets := newSecrets(t)
	facts := installed(t, clusterOf(t, sshSpec("v1.37.2", 3, 2, ""), secrets))
	down := resource.Key{Host: "cp-3", Kind: resource.KindUnit, Name: "kube-apiserver.service"}
	fact := facts[down]
	fact.Active = false
	facts[down] = fact
	planned := planOf(t, clusterOf(t, sshSpec("v1.37.2", 3, 2, "  kubernetes: {apiServerArgs: {event-ttl: 2h}}\n"), secrets), phases.Up(), facts)
	var order []string
	for _, s := range stepsOf(planned) {
		if s.Key.Kind == resource.KindUnit {
			order = append(order, string(s.Verb)+" "+s.Key.Host)
		}
	}
	if want := []string{"start cp-3", "restart cp-1", "restart cp-2"}; !slices.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
}

func checkRestarts(t *testing.T, planned []phases.Planned, want map[string][]string) {
	t.Helper()
	got := map[string][]string{}
	for _, s := range stepsOf(planned) {
		if s.Key.Kind != resource.KindUnit {
			continue
		}
		if s.Verb != plan.Restart {
			t.Errorf("%s %s, want restarts only", s.Verb, s.Key)
		}
		unit := strings.TrimSuffix(s.Key.Name, ".service")
		got[unit] = append(got[unit], s.Key.Host)
	}
	if want == nil {
		want = map[string][]string{}
	}
	if !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("restarts %v, want %v", fmt.Sprint(got), fmt.Sprint(want))
	}
}

// checkBatches holds that a batch with a restart is one control plane, or at most so many workers.
func checkBatches(t *testing.T, planned []phases.Planned, most int) {
	t.Helper()
	for _, p := range planned {
		for _, w := range p.Waves {
			restarted := false
			for _, b := range w.Batches {
				restarts := 0
				control := false
				for _, name := range b.Hosts {
					for _, s := range b.Steps[name] {
						if s.Verb == plan.Restart {
							restarts++
						}
					}
					control = control || strings.HasPrefix(name, "cp-")
				}
				if restarts == 0 && restarted {
					t.Errorf("phase %s: %v get what restarts nothing after restarts", p.Phase.Name, b.Hosts)
				}
				restarted = restarted || restarts > 0
				if restarts > 0 && (len(b.Hosts) > most || control && len(b.Hosts) > 1) {
					t.Errorf("phase %s: %v restart together", p.Phase.Name, b.Hosts)
				}
			}
		}
	}
}
