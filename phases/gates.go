package phases

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"clusterctl/components"
	"clusterctl/components/cloudcontroller"
	"clusterctl/components/coredns"
	"clusterctl/phases/health"
	"clusterctl/phases/kube"
	"clusterctl/pki"
	"clusterctl/provision/host"
	"clusterctl/provision/inventory"
)

const (
	unitTimeout  = 2 * time.Minute
	nodeTimeout  = 3 * time.Minute
	addonTimeout = 3 * time.Minute
)

// etcdGates: the member answers, knows a leader, and belongs to the cluster that was decided.
func etcdGates(e *Env, h inventory.Host) []health.Condition {
	return []health.Condition{{Name: "etcd member healthy", Host: h.Name, Timeout: unitTimeout, Explain: e.lastLines(h.Name, "etcd"), Check: func(ctx context.Context) error {
		st, err := e.EtcdMember(ctx, h.Name)
		if err != nil {
			return err
		}
		if id := fmt.Sprintf("%x", st.ClusterID); id != e.Cluster.Identity.EtcdClusterID {
			return fmt.Errorf("member belongs to etcd cluster %s, this cluster is %s", id, e.Cluster.Identity.EtcdClusterID)
		}
		return nil
	}}}
}

func quorumGates(e *Env) []health.Condition { return eachPlane(e, etcdGates) }

func apiServerGates(e *Env, h inventory.Host) []health.Condition {
	return []health.Condition{e.secure(h.Name, "kube-apiserver", "ready", components.APIServerPort, "/readyz")}
}

// planeGates: every API server serves and every controller works.
func planeGates(e *Env) []health.Condition {
	return append(eachPlane(e, apiServerGates), eachPlane(e, controllerGates)...)
}

func controllerGates(e *Env, h inventory.Host) []health.Condition {
	out := []health.Condition{
		e.secure(h.Name, "kube-controller-manager", "healthy", components.ControllerManagerPort, "/healthz"),
		e.secure(h.Name, "kube-scheduler", "healthy", components.SchedulerPort, "/healthz"),
	}
	if e.Cluster.Spec.Spec.Provider.OwnCloudController() {
		out = append(out, e.secure(h.Name, cloudcontroller.AWSName, "healthy", components.CloudControllerPort, "/healthz"))
	}
	return out
}

// kubeletGates: the kubelet answers, has registered its node at the host's address, and the
// controllers gave the node its part of the pod range. The address is waited for because kube-proxy
// ends itself, to begin anew, when its node's changes: what is judged later is judged after that.
func kubeletGates(e *Env, h inventory.Host) []health.Condition {
	registered := health.Condition{Name: "node registered", Host: h.Name, Timeout: nodeTimeout, Check: func(ctx context.Context) error {
		n, err := e.node(ctx, h.Name)
		switch {
		case err != nil:
			return err
		case !isAt(n, h.Address):
			return fmt.Errorf("node does not say address %s yet", h.Address)
		case n.Spec.PodCIDR == "":
			return errors.New("node has no pod range yet")
		}
		return nil
	}}
	return []health.Condition{e.plain(h.Name, "kubelet", "healthy", components.KubeletHealthPort, "/healthz"), registered}
}

func isAt(n *corev1.Node, address netip.Addr) bool {
	return slices.ContainsFunc(n.Status.Addresses, func(a corev1.NodeAddress) bool {
		got, err := netip.ParseAddr(a.Address)
		return a.Type == corev1.NodeInternalIP && err == nil && got == address
	})
}

func nodeGates(e *Env) []health.Condition {
	var out []health.Condition
	for _, h := range e.Cluster.reachable(e.Skip) {
		if e.Cluster.Spec.Spec.Network.KubeProxy != "none" {
			out = append(out, e.plain(h.Name, "kube-proxy", "healthy", components.KubeProxyHealthPort, "/livez"))
		}
		out = append(append(out, nodeReadyGates(e, h)...), initialisedGates(e, h)...)
	}
	return out
}

// nodeReadyGates: the node is Ready. Without a network of ours that is the user's to bring about.
func nodeReadyGates(e *Env, h inventory.Host) []health.Condition {
	if e.Cluster.Spec.Spec.Network.CNI == "none" {
		return nil
	}
	return []health.Condition{{Name: "node Ready", Host: h.Name, Timeout: nodeTimeout, Explain: e.lastLines(h.Name, "kubelet"), Check: func(ctx context.Context) error {
		n, err := e.node(ctx, h.Name)
		if err != nil {
			return err
		}
		return nodeReady(n)
	}}}
}

func nodeReady(n *corev1.Node) error {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
			return nil
		}
		if c.Type == corev1.NodeReady {
			return fmt.Errorf("%s: %s", c.Reason, c.Message)
		}
	}
	return fmt.Errorf("node has no Ready condition yet")
}

func addonGates(e *Env) []health.Condition {
	if e.Cluster.Spec.Spec.Network.CNI == "none" {
		return nil
	}
	return []health.Condition{{Name: "cluster DNS available", Timeout: addonTimeout, Explain: e.explainPods(coredns.Namespace, coredns.Selector), Check: func(ctx context.Context) error {
		api, err := e.API(ctx)
		if err != nil {
			return err
		}
		d, err := api.AppsV1().Deployments(coredns.Namespace).Get(ctx, coredns.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		return rolledOut(d)
	}}}
}

func rolledOut(d *appsv1.Deployment) error {
	want := int32(1)
	if d.Spec.Replicas != nil {
		want = *d.Spec.Replicas
	}
	available := slices.ContainsFunc(d.Status.Conditions, func(c appsv1.DeploymentCondition) bool {
		return c.Type == appsv1.DeploymentAvailable && c.Status == corev1.ConditionTrue
	})
	if d.Status.ObservedGeneration < d.Generation || d.Status.UpdatedReplicas < want || !available {
		return fmt.Errorf("%d of %d pods available", d.Status.AvailableReplicas, want)
	}
	return nil
}

// verifyGates asks everything once more at the end.
func verifyGates(e *Env) []health.Condition {
	out := append(append(quorumGates(e), planeGates(e)...), nodeGates(e)...)
	return append(out, addonGates(e)...)
}

func eachPlane(e *Env, gates func(*Env, inventory.Host) []health.Condition) []health.Condition {
	var out []health.Condition
	for _, h := range e.Cluster.planes(e.Skip) {
		out = append(out, gates(e, h)...)
	}
	return out
}

func (e *Env) secure(name, unit, state string, port int, path string) health.Condition {
	return health.Condition{Name: unit + " " + state, Host: name, Timeout: unitTimeout, Explain: e.lastLines(name, unit), Check: func(ctx context.Context) error {
		h, err := e.Hosts.Get(name)
		if err != nil {
			return err
		}
		return kube.ReadyAt(ctx, h.Dial, e.Cluster.Secrets.CA(pki.ClusterCA).CertPEM, port, path)
	}}
}

func (e *Env) plain(name, unit, state string, port int, path string) health.Condition {
	return health.Condition{Name: unit + " " + state, Host: name, Timeout: unitTimeout, Explain: e.lastLines(name, unit), Check: func(ctx context.Context) error {
		h, err := e.Hosts.Get(name)
		if err != nil {
			return err
		}
		return kube.PlainAt(ctx, h.Dial, port, path)
	}}
}

// lastLines gives the end of a unit's log.
func (e *Env) lastLines(name, unit string) func(context.Context) string {
	return func(ctx context.Context) string {
		h, err := e.Hosts.Get(name)
		if err != nil {
			return ""
		}
		out, err := h.Run(ctx, host.Cmd{Args: []string{"journalctl", "--unit", unit, "--lines", "20", "--no-pager", "--output", "cat"}, Root: true})
		if err != nil {
			return "" // the condition's own error is what counts
		}
		return "last lines of " + unit + " on " + name + ":\n" + strings.TrimSpace(string(out.Stdout))
	}
}

func (e *Env) node(ctx context.Context, name string) (*corev1.Node, error) {
	api, err := e.API(ctx)
	if err != nil {
		return nil, err
	}
	return api.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
}
