package view

import "fmt"

// Done is what up says at the end.
type Done struct {
	Cluster    string `json:"cluster"`
	Version    string `json:"kubernetesVersion"`
	Hosts      int    `json:"hosts"`
	Kubeconfig string `json:"kubeconfig"` // path
	Spec       string `json:"spec"`       // path
}

// Done writes the end of a run and what to do next.
func (o Output) Done(d Done) error {
	return o.write(struct {
		Schema string `json:"schema"`
		Done
	}{schema, d}, func() string {
		return fmt.Sprintf("Cluster %s is up: Kubernetes %s on %d hosts.\n\nNext:\n  export KUBECONFIG=%s\n  kubectl get nodes\n  clusterctl status %s\n",
			d.Cluster, d.Version, d.Hosts, d.Kubeconfig, d.Spec)
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
