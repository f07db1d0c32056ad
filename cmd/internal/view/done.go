package view

import "fmt"

// Done is what up says at the end.
type Done struct {
	Cluster    string `json:"cluster"`
	Version    string `json:"kubernetesVersion"`
	Hosts      int    `json:"hosts"`
	Kubeconfig string `json:"kubeconfig"` // path
	Spec       string `json:"spec"`       // path
	Former     string `json:"former,omitempty"`
}

// soaks says what may be done while a control plane emulates a former version.
func soaks(former string) string {
	return fmt.Sprintf("The control plane emulates %s, and the cluster may go back to it until spec.upgradePolicy.emulate is false and up was run.\n", oneLine(former))
}

// Done writes the end of a run and what to do next.
func (o Output) Done(d Done) error {
	return o.write(struct {
		Schema string `json:"schema"`
		Done
	}{schema, d}, func() string {
		text := fmt.Sprintf("Cluster %s is up: Kubernetes %s on %d hosts.\n", d.Cluster, d.Version, d.Hosts)
		if d.Former != "" {
			text += soaks(d.Former)
		}
		return text + fmt.Sprintf("\nNext:\n  export KUBECONFIG=%s\n  kubectl get nodes\n  clusterctl status %s\n", d.Kubeconfig, d.Spec)
	})
}

// PhaseDone is what up says after a single phase.
type PhaseDone struct {
	Cluster string `json:"cluster"`
	Phase   string `json:"phase"`
	Spec    string `json:"spec"` // path
}

// PhaseDone writes the end of a run of one phase.
func (o Output) PhaseDone(d PhaseDone) error {
	return o.write(struct {
		Schema string `json:"schema"`
		PhaseDone
	}{schema, d}, func() string {
		return fmt.Sprintf("Phase %s of cluster %s is done. For all phases: clusterctl up %s\n", d.Phase, d.Cluster, d.Spec)
	})
}
