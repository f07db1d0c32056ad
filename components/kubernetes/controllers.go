package kubernetes

import (
	"strconv"

	"clusterctl/components"
	"clusterctl/components/resource"
	"clusterctl/pki"
)

// ControllerManager is kube-controller-manager on a control plane, bound to its own host's API
// server.
type ControllerManager struct{}

// Name is the unit's name without suffix.
func (ControllerManager) Name() string { return "kube-controller-manager" }

const (
	controllerManagerConf  = components.KubernetesDir + "/controller-manager.conf"
	controllerManagerCert  = components.PKIDir + "/controller-manager.pem"
	schedulerConf          = components.KubernetesDir + "/scheduler.conf"
	schedulerCert          = components.PKIDir + "/scheduler.pem"
	leaderElectionDuration = "15s"
)

// Resources gives kubeconfig, certificates and the unit.
func (c ControllerManager) Resources(n components.Node) ([]resource.Resource, error) {
	host := n.Host.Name
	conf, err := n.KubeconfigFile(host, pki.ControllerManager, components.LocalAPI(), controllerManagerConf)
	if err != nil {
		return nil, err
	}
	serving, err := n.LeafFile(host, pki.ControllerManagerServing, controllerManagerCert)
	if err != nil {
		return nil, err
	}
	reads := []resource.Resource{
		conf, serving,
		components.Public(host, components.ClusterCAPath, n.Secrets.CA(pki.ClusterCA).CertPEM),
		components.Secret(host, components.ClusterCAKeyPath, n.Secrets.CA(pki.ClusterCA).KeyPEM.Reveal()),
		components.Public(host, components.FrontProxyCAPath, n.Secrets.CA(pki.FrontProxyCA).CertPEM),
		components.Secret(host, components.ServiceKeyPath, n.Secrets.ServiceAccount().KeyPEM.Reveal()),
	}
	unit, err := service(n, c.Name(), "exec", ControllerManagerArgs(n), []string{"kube-apiserver.service"}, reads)
	return append(reads, unit...), err
}

// ControllerManagerArgs is kube-controller-manager's argument vector without the program.
func ControllerManagerArgs(n components.Node) []string {
	net := n.Spec.Spec.Network
	own := map[string]string{
		"kubeconfig":                       controllerManagerConf,
		"authentication-kubeconfig":        controllerManagerConf,
		"authorization-kubeconfig":         controllerManagerConf,
		"bind-address":                     "127.0.0.1",
		"secure-port":                      strconv.Itoa(components.ControllerManagerPort),
		"tls-cert-file":                    controllerManagerCert,
		"tls-private-key-file":             controllerManagerCert,
		"client-ca-file":                   components.ClusterCAPath,
		"requestheader-client-ca-file":     components.FrontProxyCAPath,
		"root-ca-file":                     components.ClusterCAPath,
		"service-account-private-key-file": components.ServiceKeyPath,
		"cluster-signing-cert-file":        components.ClusterCAPath,
		"cluster-signing-key-file":         components.ClusterCAKeyPath,
		"use-service-account-credentials":  "true",
		"leader-elect":                     "true",
		"leader-elect-lease-duration":      leaderElectionDuration,
		"cluster-name":                     n.Spec.Metadata.Name,
		"allocate-node-cidrs":              "true",
		"cluster-cidr":                     net.PodCIDR,
		"node-cidr-mask-size":              strconv.Itoa(net.NodeMask),
		"service-cluster-ip-range":         net.ServiceCIDR,
		"profiling":                        "false",
		// The default of 20 a second is spent for seconds when some forty controllers make their
		// service accounts at the first start, and in large clusters all the time; the API server's
		// priority and fairness is what bounds clients.
		"kube-api-qps":   "100",
		"kube-api-burst": "200",
	}
	return components.Flags(emulate(n, own), n.Spec.Spec.Kubernetes.ControllerManagerArgs)
}

// Scheduler is kube-scheduler on a control plane, bound to its own host's API server.
type Scheduler struct{}

// Name is the unit's name without suffix.
func (Scheduler) Name() string { return "kube-scheduler" }

// Resources gives kubeconfig, certificate and the unit.
func (c Scheduler) Resources(n components.Node) ([]resource.Resource, error) {
	host := n.Host.Name
	conf, err := n.KubeconfigFile(host, pki.Scheduler, components.LocalAPI(), schedulerConf)
	if err != nil {
		return nil, err
	}
	serving, err := n.LeafFile(host, pki.SchedulerServing, schedulerCert)
	if err != nil {
		return nil, err
	}
	reads := []resource.Resource{
		conf, serving,
		components.Public(host, components.ClusterCAPath, n.Secrets.CA(pki.ClusterCA).CertPEM),
		components.Public(host, components.FrontProxyCAPath, n.Secrets.CA(pki.FrontProxyCA).CertPEM),
	}
	unit, err := service(n, c.Name(), "exec", SchedulerArgs(n), []string{"kube-apiserver.service"}, reads)
	return append(reads, unit...), err
}

// SchedulerArgs is kube-scheduler's argument vector without the program.
func SchedulerArgs(n components.Node) []string {
	own := map[string]string{
		"kubeconfig":                   schedulerConf,
		"authentication-kubeconfig":    schedulerConf,
		"authorization-kubeconfig":     schedulerConf,
		"bind-address":                 "127.0.0.1",
		"secure-port":                  strconv.Itoa(components.SchedulerPort),
		"tls-cert-file":                schedulerCert,
		"tls-private-key-file":         schedulerCert,
		"client-ca-file":               components.ClusterCAPath,
		"requestheader-client-ca-file": components.FrontProxyCAPath,
		"leader-elect":                 "true",
		"leader-elect-lease-duration":  leaderElectionDuration,
		"profiling":                    "false",
	}
	return components.Flags(emulate(n, own), n.Spec.Spec.Kubernetes.SchedulerArgs)
}
