package preflight

import (
	"path"
	"strings"

	"clusterctl/components"
	"clusterctl/components/linux"
)

// identity: a host that carries another cluster's identity is never touched, and a cluster whose
// state is lost is never made a second time over its own hosts.
func identity(m machine) []Finding {
	id, name := m.report.Identity, m.in.Spec.Metadata.Name
	switch {
	case m.report.IdentityText == "":
		return nil
	case id.UID == "":
		return failure("find out which cluster the host belongs to before anything is changed; nothing on it was touched",
			"%s is there and cannot be read", components.IdentityPath)
	case id.UID != m.in.ClusterUID:
		return stranger(m, id)
	case id.Host != m.host.Name:
		return failure("check the host's address in the spec: two hosts may have been swapped",
			"this machine is host %s of cluster %s, not %s", id.Host, name, m.host.Name)
	case id.EtcdClusterID != "" && m.in.EtcdClusterID != "" && id.EtcdClusterID != m.in.EtcdClusterID:
		return failure("restore the state directory that fits this etcd cluster; nothing was touched",
			"the host belongs to etcd cluster %s, this cluster's state says %s", id.EtcdClusterID, m.in.EtcdClusterID)
	}
	return nil
}

func stranger(m machine, id linux.IdentityFile) []Finding {
	const other = "remove the host from the spec, or take the other cluster down first; nothing on the host was touched"
	name := m.in.Spec.Metadata.Name
	of := "cluster " + id.Cluster + ", uid " + id.UID
	if id.EtcdClusterID != "" {
		of += ", etcd cluster id " + id.EtcdClusterID
	}
	switch {
	case id.Cluster != name:
		return failure(other, "the host belongs to another cluster: %s", of)
	case m.in.ClusterUID == "":
		return failure("restore the state directory ("+path.Join(stateDir(m.in.Spec.Path), name)+") from a copy or from where up ran before; the cluster is never made anew over its own hosts",
			"state is missing: the host belongs to %s", of)
	}
	return failure(other, "the host belongs to another cluster of the same name: %s; this one has uid %s", of, m.in.ClusterUID)
}

// stateDir is the directory of all clusters' state beside the spec.
func stateDir(specPath string) string { return path.Join(path.Dir(specPath), ".clusterctl") }

// foreignOwners says whose the paths are that observe looks for; the first prefix that fits wins.
func foreignOwners() [][2]string {
	return [][2]string{
		{components.EtcdDataDir, "an etcd member"},
		{"/var/lib/rancher/rke2", "RKE2"}, {"/etc/rancher/rke2", "RKE2"},
		{"/var/lib/rancher", "k3s or RKE2"}, {"/etc/rancher", "k3s"},
		{"/var/lib/k0s", "k0s"}, {"/var/snap/microk8s", "MicroK8s"},
		{components.KubernetesDir, "a Kubernetes node, as kubeadm makes it"},
	}
}

// foreign: data of a cluster that we do not know is never written over.
func foreign(m machine) []Finding {
	if m.report.IdentityText != "" {
		return nil
	}
	if id := m.report.EtcdClusterID; id != "" && id == m.in.EtcdClusterID {
		return nil // our own member; only the identity file was lost
	}
	var found []string
	for _, p := range m.report.Foreign {
		if !isRuntime(p) {
			found = append(found, p+" ("+ownerOf(p, m.report.EtcdClusterID)+")")
		}
	}
	if len(found) == 0 {
		return nil
	}
	return failure("take the host out of the spec, or remove that cluster from it with its own tool (kubeadm reset, k3s-uninstall.sh, ...); its data was not touched",
		"the host holds another cluster's data: %s", strings.Join(found, ", "))
}

func ownerOf(p, etcdClusterID string) string {
	for _, o := range foreignOwners() {
		if strings.HasPrefix(p, o[0]) {
			if o[0] == components.EtcdDataDir && etcdClusterID != "" {
				return o[1] + " of cluster " + etcdClusterID
			}
			return o[1]
		}
	}
	return "unknown"
}
