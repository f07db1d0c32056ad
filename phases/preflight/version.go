package preflight

// kubernetesVersion: moving a running cluster to another version of Kubernetes needs an order, drains and a
// backup that bringing up does not have; changing all programs at once could lose writes.
func kubernetesVersion(m machine) []Finding {
	want := m.in.Spec.Spec.Kubernetes.Version
	for _, unit := range []string{"kube-apiserver", "kubelet"} {
		if have := m.report.Running[unit]; have != "" && have != want {
			return failure("put "+have+" back in spec.kubernetes.version: up does not move a running cluster to another version",
				"runs Kubernetes %s, the spec says %s", have, want)
		}
	}
	return nil
}
