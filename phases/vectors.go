package phases

import (
	"slices"
	"strings"

	"clusterctl/components"
	"clusterctl/components/etcd"
	"clusterctl/components/kubernetes"
	"clusterctl/phases/arguments"
)

// Vectors are the arguments that components are going to be started with, for the programs of
// the bundle that stand at paths on this machine, by artifact. Those of one host stand for all:
// only addresses differ.
func Vectors(c *Cluster, paths map[string]string) ([]arguments.Vector, error) {
	n := c.Node(c.Inventory.ControlPlanes()[0])
	member, err := etcd.Args(n)
	if err != nil {
		return nil, err
	}
	k, version := c.Spec.Spec.Kubernetes, c.Release.Kubernetes
	program := paths["kubernetes"]
	const field = "spec.kubernetes."
	out := []arguments.Vector{
		{Component: "etcd", Program: paths["etcd"], Version: c.Release.Version("etcd"), Args: member, Own: own(c.Spec.Spec.Etcd.Args), Field: "spec.etcd.args"},
		{Component: "kube-apiserver", Program: program, Version: version, Args: kubernetes.APIServerArgs(n), Own: own(k.APIServerArgs), Field: field + "apiServerArgs"},
		{Component: "kube-controller-manager", Program: program, Version: version, Args: kubernetes.ControllerManagerArgs(n), Own: own(k.ControllerManagerArgs), Field: field + "controllerManagerArgs"},
		{Component: "kube-scheduler", Program: program, Version: version, Args: kubernetes.SchedulerArgs(n), Own: own(k.SchedulerArgs), Field: field + "schedulerArgs"},
		{Component: "kubelet", Program: program, Version: version, Args: kubernetes.KubeletArgs(n), Own: own(k.KubeletArgs), Field: field + "kubeletArgs"},
		{Component: "kube-proxy", Program: program, Version: version, Args: own(k.KubeProxyArgs), Own: own(k.KubeProxyArgs), Field: field + "kubeProxyArgs"},
	}
	out = slices.DeleteFunc(out, func(v arguments.Vector) bool { return c.Release.Of(v.Component).Kubernetes != version }) // it stays as it is
	return append(out, gates(out)...), nil
}

// own is arguments of the spec as they stand on a command line.
func own(args map[string]string) []string { return components.Flags(map[string]string{}, args) }

// gates: kubelet and kube-proxy read their feature gates only when they really start. All of
// Kubernetes' gates are in one list of the one program, so its API server is asked for theirs.
func gates(vectors []arguments.Vector) []arguments.Vector {
	var out []arguments.Vector
	for _, v := range vectors {
		if v.Component != "kubelet" && v.Component != "kube-proxy" {
			continue
		}
		v.Component, v.Args = "kube-apiserver", slices.DeleteFunc(slices.Clone(v.Own), func(a string) bool { return !strings.HasPrefix(a, "--feature-gates=") })
		v.Own = v.Args
		if len(v.Args) > 0 {
			out = append(out, v)
		}
	}
	return out
}
