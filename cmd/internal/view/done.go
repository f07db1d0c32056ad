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
	if o.Format == JSON {
		return o.JSON(struct {
			Schema string `json:"schema"`
			Done
		}{schema, d})
	}
	_, err := fmt.Fprintf(o.W, "Cluster %s is up: Kubernetes %s on %d hosts.\n\nNext:\n  export KUBECONFIG=%s\n  kubectl get nodes\n  clusterctl status %s\n",
		d.Cluster, d.Version, d.Hosts, d.Kubeconfig, d.Spec)
	return err
}
