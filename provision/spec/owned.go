package spec

import "strings"

// Names of the components that take arguments from the spec.
const (
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	Kubelet           = "kubelet"
	KubeProxy         = "kube-proxy"
	EtcdMember        = "etcd"
	// CloudControllerManager is the one that the user brings as an image.
	CloudControllerManager = "cloud-controller-manager"
)

// OwnedArg is an argument that the tool sets itself, so that the spec may not.
type OwnedArg struct {
	// Name of the argument without dashes; a * at the end stands for any rest.
	Name string
	// Instead says which field of the spec does what the argument would; may be empty.
	Instead string
}

// OwnedArgs lists the arguments of a component that the tool sets itself. It is empty for a
// component that is not known.
func OwnedArgs(component string) []OwnedArg {
	switch component {
	case APIServer:
		return apiServerOwned()
	case ControllerManager:
		return append(clientOwned(), controllerManagerOwned()...)
	case Scheduler:
		return append(clientOwned(), owned("config", "secure-port", "bind-address", "leader-elect")...)
	case Kubelet:
		return kubeletOwned()
	case KubeProxy:
		return kubeProxyOwned()
	case EtcdMember:
		return etcdOwned()
	case CloudControllerManager:
		return cloudControllerOwned()
	}
	return nil
}

// owner finds the entry that says the tool owns the argument.
func owner(component, arg string) (OwnedArg, bool) {
	for _, o := range OwnedArgs(component) {
		if prefix, ok := strings.CutSuffix(o.Name, "*"); ok && strings.HasPrefix(arg, prefix) || o.Name == arg {
			return o, true
		}
	}
	return OwnedArg{}, false
}

func owned(names ...string) []OwnedArg {
	out := make([]OwnedArg, len(names))
	for i, name := range names {
		out[i].Name = name
	}
	return out
}

func apiServerOwned() []OwnedArg {
	return append(owned(
		"advertise-address", "allow-privileged", "anonymous-auth", "api-audiences",
		"audit-log-path", "audit-policy-file", "authentication-config",
		"authentication-token-webhook-config-file", "authorization-config", "authorization-mode",
		"bind-address", "client-ca-file", "egress-selector-config-file",
		"enable-bootstrap-token-auth", "etcd-cafile", "etcd-certfile",
		"etcd-keyfile", "etcd-prefix", "etcd-servers", "etcd-servers-overrides",
		"kubelet-certificate-authority", "kubelet-client-*", "peer-ca-file", "proxy-client-*",
		"requestheader-*", "secure-port", "service-account-*", "storage-backend", "tls-cert-file",
		"tls-private-key-file", "token-auth-file",
	),
		// kube-apiserver refuses to start with these beside an authentication configuration.
		OwnedArg{"oidc-*", "it excludes the authentication configuration that clusterctl writes"},
		OwnedArg{"admission-control-config-file", "set spec.kubernetes.podSecurity"},
		OwnedArg{"encryption-provider-config", "set spec.kubernetes.encryption"},
		OwnedArg{"encryption-provider-config-automatic-reload", "set spec.kubernetes.encryption"},
		OwnedArg{"service-cluster-ip-range", "set spec.network.serviceCIDR"},
		emulatedOwned,
	)
}

var emulatedOwned = OwnedArg{"emulated-version", "set spec.upgradePolicy.emulate"}

// clientOwned is what the controller manager and the scheduler have in common.
func clientOwned() []OwnedArg {
	return append(owned("authentication-kubeconfig", "authorization-kubeconfig", "client-ca-file",
		"kubeconfig", "master", "requestheader-*", "tls-cert-file", "tls-private-key-file"), emulatedOwned)
}

func controllerManagerOwned() []OwnedArg {
	return append(owned(
		"allocate-node-cidrs", "bind-address", "cluster-name", "cluster-signing-*",
		"leader-elect", "root-ca-file", "secure-port", "service-account-private-key-file",
		"use-service-account-credentials",
	),
		OwnedArg{"cluster-cidr", "set spec.network.podCIDR"},
		OwnedArg{"node-cidr-mask-size", "set spec.network.nodeMask"},
		OwnedArg{"node-cidr-mask-size-ipv4", "set spec.network.nodeMask"},
		OwnedArg{"node-cidr-mask-size-ipv6", "set spec.network.nodeMask"},
		OwnedArg{"service-cluster-ip-range", "set spec.network.serviceCIDR"},
	)
}

func kubeletOwned() []OwnedArg {
	return append(owned(
		"address", "anonymous-auth", "authentication-token-webhook", "authorization-mode",
		"bootstrap-kubeconfig", "cert-dir", "cgroup-driver", "cgroups-per-qos", "client-ca-file",
		"cloud-provider", "cluster-dns", "config", "config-dir", "container-runtime-endpoint",
		"containerd", "healthz-*", "hostname-override", "image-service-endpoint", "kubeconfig",
		"node-ip", "pod-infra-container-image", "pod-manifest-path", "port", "read-only-port",
		"resolv-conf", "root-dir", "rotate-certificates", "rotate-server-certificates",
		"runtime-cgroups", "static-pod-path", "tls-cert-file", "tls-private-key-file",
	),
		OwnedArg{"cluster-domain", "set spec.network.clusterDomain"},
		OwnedArg{"fail-swap-on", "set spec.host.swap"},
		OwnedArg{"provider-id", "it is what the cloud says"},
		OwnedArg{"pod-cidr", "set spec.network.podCIDR"},
		OwnedArg{"register-with-taints", "set the taints of the pool"},
	)
}

func kubeProxyOwned() []OwnedArg {
	return append(owned("bind-address", "cleanup", "config", "healthz-bind-address",
		"hostname-override", "kubeconfig", "master", "write-config-to"),
		OwnedArg{"cluster-cidr", "set spec.network.podCIDR"},
		OwnedArg{"proxy-mode", "set spec.network.kubeProxy"},
	)
}

func etcdOwned() []OwnedArg {
	return append(owned(
		"advertise-client-urls", "auto-tls", "cert-file", "client-cert-auth", "client-crl-file",
		"config-file", "data-dir", "discovery*", "enable-grpc-gateway", "force-new-cluster",
		"initial-advertise-peer-urls", "initial-cluster*", "key-file", "listen-client-http-urls",
		"listen-client-urls", "listen-metrics-urls", "listen-peer-urls", "name", "peer-auto-tls",
		"peer-cert-*", "peer-client-cert-auth", "peer-crl-file", "peer-key-file",
		"peer-trusted-ca-file", "trusted-ca-file", "wal-dir",
	),
		OwnedArg{"quota-backend-bytes", "set spec.etcd.quota"},
	)
}
