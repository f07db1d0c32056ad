package spec

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// argumentName is a flag as all components spell it.
var argumentName = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

func (v *validator) checkArguments() {
	k := v.c.Spec.Kubernetes
	v.checkAdmissionArgs(at("kubernetes", "apiServerArgs"), k.APIServerArgs)
	v.checkNodeLabelsArg(at("kubernetes", "kubeletArgs").Key("node-labels"), k.KubeletArgs["node-labels"])
	v.checkArgs(at("kubernetes", "apiServerArgs"), APIServer, k.APIServerArgs)
	v.checkArgs(at("kubernetes", "controllerManagerArgs"), ControllerManager, k.ControllerManagerArgs)
	v.checkArgs(at("kubernetes", "schedulerArgs"), Scheduler, k.SchedulerArgs)
	v.checkArgs(at("kubernetes", "kubeletArgs"), Kubelet, k.KubeletArgs)
	v.checkArgs(at("kubernetes", "kubeProxyArgs"), KubeProxy, k.KubeProxyArgs)
	v.checkArgs(at("etcd", "args"), EtcdMember, v.c.Spec.Etcd.Args)
}

func (v *validator) checkArgs(path *field.Path, component string, args map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(args)) {
		p := path.Key(name)
		plain := strings.ReplaceAll(strings.TrimLeft(name, "-"), "_", "-")
		switch {
		case strings.HasPrefix(name, "-"):
			v.add(p, "write arguments without leading dashes", fmt.Sprintf("write %s", plain))
		case strings.Contains(name, "="):
			v.add(p, "an argument's name has no =", "write name: value")
		case plain != name && argumentName.MatchString(plain):
			// Kubernetes' flags take _ for -, which would let a second spelling past the checks.
			v.add(p, "write arguments with - instead of _", fmt.Sprintf("write %s", plain))
		case !argumentName.MatchString(name):
			v.add(p, fmt.Sprintf("need the name of an argument of %s, got %q", component, name), "")
		}
		if rule, ok := owner(component, plain); ok {
			v.add(p, fmt.Sprintf("clusterctl sets this argument of %s itself", component), rule.Instead)
		}
	}
}

// checkAdmissionArgs keeps the admission plugins on that the cluster's security rests on:
// NodeRestriction bounds what a node's certificate may change, PodSecurity enforces
// spec.kubernetes.podSecurity.
func (v *validator) checkAdmissionArgs(path *field.Path, args map[string]string) {
	const enable, disable = "enable-admission-plugins", "disable-admission-plugins"
	if list, ok := args[enable]; ok && !slices.Contains(strings.Split(list, ","), "NodeRestriction") {
		v.add(path.Key(enable), "NodeRestriction must be among the plugins: without it any node may change all others",
			"write "+strings.Trim("NodeRestriction,"+list, ","))
	}
	for plugin := range strings.SplitSeq(args[disable], ",") {
		switch plugin {
		case "NodeRestriction":
			v.add(path.Key(disable), "NodeRestriction must stay on: without it any node may change all others", "")
		case "PodSecurity":
			v.add(path.Key(disable), "PodSecurity must stay on", "write spec.kubernetes.podSecurity: privileged")
		}
	}
}

// checkNodeLabelsArg keeps labels of Kubernetes' own domains out of the kubelet's argument: the
// kubelet refuses most of them at start, and the tool sets the others.
func (v *validator) checkNodeLabelsArg(path *field.Path, value string) {
	for pair := range strings.SplitSeq(value, ",") {
		key, _, _ := strings.Cut(pair, "=")
		domain, _, ok := strings.Cut(strings.TrimSpace(key), "/")
		if ok && isKubernetesDomain(domain) {
			v.add(path, fmt.Sprintf("the label %s is in a domain of Kubernetes", key), "set it in the labels of the pool or host")
		}
	}
}

func isKubernetesDomain(domain string) bool {
	for _, d := range []string{"kubernetes.io", "k8s.io"} {
		if domain == d || strings.HasSuffix(domain, "."+d) {
			return true
		}
	}
	return false
}
