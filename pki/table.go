package pki

import (
	"slices"

	"clusterctl/provision/inventory"
	"clusterctl/provision/spec"
)

// Names of the certificates in the table.
const (
	// On every control plane.
	EtcdServer               = "etcd"
	EtcdPeer                 = "etcd-peer"
	APIServer                = "apiserver"
	APIServerEtcdClient      = "apiserver-etcd-client"
	APIServerKubeletClient   = "apiserver-kubelet-client"
	FrontProxyClient         = "front-proxy-client"
	ControllerManager        = "controller-manager"
	ControllerManagerServing = "controller-manager-serving"
	Scheduler                = "scheduler"
	SchedulerServing         = "scheduler-serving"
	CloudController          = "cloud-controller"
	CloudControllerServing   = "cloud-controller-serving"
	// On every host.
	Kubelet        = "kubelet"
	KubeletServing = "kubelet-serving"
	// The same on all hosts.
	KubeProxy = "kube-proxy"
	Flannel   = "flannel"
	// On no host.
	Admin      = "admin"
	SuperAdmin = "super-admin"
)

// Users and groups that are the project's own. Kubernetes gives them no rights: bootstrap
// objects bind them.
const (
	// AdminUser and AdminsGroup are people; the group is bound to ClusterRole cluster-admin, so
	// that its rights can be taken away again.
	AdminUser   = "clusterctl:admin"
	AdminsGroup = "clusterctl:admins"
	// KubeletClientGroup is the API server towards kubelets (logs, exec, port-forward); it is
	// bound to ClusterRole system:kubelet-api-admin, which is all it needs: system:masters, as
	// kubeadm once used, would make this file a key to everything.
	KubeletClientGroup = "clusterctl:apiserver-kubelet-client"
	// FlannelUser is flanneld: it reads nodes and writes their annotations.
	FlannelUser = "clusterctl:flannel"
	// CloudControllerUser is the cloud controller that runs as a unit: it reads and writes nodes, and
	// the status of Services.
	CloudControllerUser = "clusterctl:cloud-controller"
)

// Users and groups that Kubernetes binds itself ("Using RBAC Authorization", default roles;
// "Using Node Authorization" for the node names).
const (
	ControllerManagerUser = "system:kube-controller-manager"
	SchedulerUser         = "system:kube-scheduler"
	KubeProxyUser         = "system:kube-proxy"
	NodeUserPrefix        = "system:node:"
	NodesGroup            = "system:nodes"
	// MastersGroup passes every authorizer, and RBAC cannot take it away. Only the break-glass
	// certificate has it.
	MastersGroup = "system:masters"
)

// ServerName is a name that every API server's certificate holds: clients that reach any of them
// through the balancer on their own host verify this one.
const ServerName = "kubernetes"

// Table is all certificates that the cluster has, as data: for each host in the inventory's
// order, then those that no single host owns. s has its defaults and is valid.
func Table(s *spec.Cluster, inv inventory.Inventory) []Request {
	var out []Request
	for _, h := range inv.Hosts {
		if h.Role == inventory.ControlPlane {
			out = append(out, etcdTable(h)...)
			out = append(out, apiServerTable(s, h)...)
			out = append(out, controllerTable(s, h)...)
		}
		out = append(out, kubeletTable(h)...)
	}
	out = append(out, sharedTable(s)...)
	for i := range out {
		out[i].Algorithm = Algorithm(s.Spec.PKI.Algorithm).orDefault()
	}
	return out
}

// loopback is how a process is reached from its own host.
func loopback(n *names) *names {
	return n.add("localhost", "127.0.0.1", "::1")
}

// hostNames are a host's name and its cluster address, which is what URLs are made of: an URL
// with an address needs an IP SAN of it.
func hostNames(h inventory.Host) *names {
	return new(names).add(h.Name).addIP(h.Address)
}

// etcdTable: both listeners verify clients with the same CA, and a member is a client of its
// peers (etcd, "Transport security model"), so both certificates serve both sides.
func etcdTable(h inventory.Host) []Request {
	n := loopback(hostNames(h))
	base := Request{
		Host: h.Name, CA: EtcdCA, Usage: Both, CommonName: h.Name,
		DNSNames: n.dns, IPs: n.ips, Readers: []string{"etcd"},
	}
	server, peer := base, base
	server.Name, peer.Name = EtcdServer, EtcdPeer
	return []Request{server, peer, {
		Host: h.Name, Name: APIServerEtcdClient, CA: EtcdCA, Usage: Client,
		CommonName: "kube-apiserver-etcd-client", Readers: []string{"kube-apiserver", "etcdctl"},
	}}
}

func apiServerTable(s *spec.Cluster, h inventory.Host) []Request {
	n := apiServerNames(s, h)
	readers := []string{"kube-apiserver"}
	return []Request{{
		Host: h.Name, Name: APIServer, CA: ClusterCA, Usage: Server,
		CommonName: "kube-apiserver", DNSNames: n.dns, IPs: n.ips, Readers: readers,
	}, {
		Host: h.Name, Name: APIServerKubeletClient, CA: ClusterCA, Usage: Client,
		CommonName: "kube-apiserver-kubelet-client", Organization: []string{KubeletClientGroup}, Readers: readers,
	}, {
		Host: h.Name, Name: FrontProxyClient, CA: FrontProxyCA, Usage: Client,
		CommonName: "front-proxy-client", Readers: readers,
	}}
}

// apiServerNames are all names and addresses by which clients may reach this API server.
func apiServerNames(s *spec.Cluster, h inventory.Host) *names {
	n := new(names).add(ServerName, "kubernetes.default", "kubernetes.default.svc")
	if domain := s.Spec.Network.ClusterDomain; domain != "" {
		n.add("kubernetes.default.svc." + domain)
	}
	n.add(h.Name).addIP(h.Address).add(h.SSH.Address)
	loopback(n.addIP(s.APIServiceAddress()))
	if host, _, ok := s.ControlPlaneEndpoint(); ok {
		n.add(host)
	}
	return n.add(s.Spec.ControlPlane.CertSANs...)
}

// controllerTable: the serving certificates are for metrics and health, which would otherwise be
// self-signed and refused by everybody who verifies.
func controllerTable(s *spec.Cluster, h inventory.Host) []Request {
	n := loopback(hostNames(h))
	client := func(name, user, program string) Request {
		return Request{Host: h.Name, Name: name, CA: ClusterCA, Usage: Client, CommonName: user, Readers: []string{program}}
	}
	serving := func(name, program string) Request {
		return Request{
			Host: h.Name, Name: name, CA: ClusterCA, Usage: Server, CommonName: program,
			DNSNames: n.dns, IPs: n.ips, Readers: []string{program},
		}
	}
	out := []Request{
		client(ControllerManager, ControllerManagerUser, "kube-controller-manager"),
		serving(ControllerManagerServing, "kube-controller-manager"),
		client(Scheduler, SchedulerUser, "kube-scheduler"),
		serving(SchedulerServing, "kube-scheduler"),
	}
	if s.Spec.Provider.OwnCloudController() {
		const program = "aws-cloud-controller-manager"
		out = append(out, client(CloudController, CloudControllerUser, program), serving(CloudControllerServing, program))
	}
	return out
}

// kubeletTable: the node authorizer knows a kubelet by user and group; its serving certificate
// has the same subject, as one that the kubelet asks for itself would have ("TLS bootstrapping").
func kubeletTable(h inventory.Host) []Request {
	n := hostNames(h)
	base := Request{
		Host: h.Name, CA: ClusterCA, CommonName: NodeUserPrefix + h.Name, Organization: []string{NodesGroup},
		Readers: []string{"kubelet"},
	}
	client, serving := base, base
	client.Name, client.Usage = Kubelet, Client
	serving.Name, serving.Usage = KubeletServing, Server
	serving.DNSNames, serving.IPs = n.dns, n.ips
	return []Request{client, serving}
}

// sharedTable: one certificate for all copies of a program, and those of people.
func sharedTable(s *spec.Cluster) []Request {
	var out []Request
	client := func(name, user string, groups []string, readers ...string) {
		out = append(out, Request{
			Name: name, CA: ClusterCA, Usage: Client, CommonName: user,
			Organization: slices.Clone(groups), Readers: readers,
		})
	}
	if s.Spec.Network.KubeProxy != "none" {
		client(KubeProxy, KubeProxyUser, nil, "kube-proxy")
	}
	if s.Spec.Network.CNI != "none" {
		client(Flannel, FlannelUser, nil, "flanneld")
	}
	client(Admin, AdminUser, []string{AdminsGroup}, "people, with kubectl")
	// Break-glass: it stays in the state and on no host. The tool uses it to create the RBAC
	// objects that everybody else needs ("PKI certificates and requirements", user accounts).
	client(SuperAdmin, "clusterctl:super-admin", []string{MastersGroup}, "clusterctl")
	return out
}
