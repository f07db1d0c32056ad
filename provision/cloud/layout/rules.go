package layout

import "clusterctl/provision/spec"

// Peer is one end of a connection.
type Peer string

// The peers. Those with a field's name are the address ranges that the field lists.
const (
	ControlPlanes Peer = "control planes"
	Workers       Peer = "workers"
	Bastion       Peer = "bastion"
	Balancer      Peer = "API load balancer"
	SSHFrom       Peer = "access.sshFrom"
	APIFrom       Peer = "access.apiFrom"
	NodePortsFrom Peer = "access.nodePortsFrom"
)

// Rule lets connections through that nothing else lets through.
type Rule struct {
	From, To    Peer
	Protocol    string // tcp or udp
	First, Last int    // ports
	Why         string
}

// Rules is every connection between hosts, and from outside to them, that a cluster needs:
// docs/network.md shows the table. What hosts open to the outside is not restricted.
func Rules(s *spec.Cluster, access spec.CloudAccess, balanced bool) []Rule {
	tcp := func(from, to Peer, port int, why string) Rule { return Rule{from, to, "tcp", port, port, why} }
	out := []Rule{
		tcp(ControlPlanes, ControlPlanes, 2379, "API servers to etcd"),
		tcp(ControlPlanes, ControlPlanes, 2380, "etcd members to each other"),
		tcp(ControlPlanes, ControlPlanes, 6443, "each host's balancer to all API servers"),
		tcp(Workers, ControlPlanes, 6443, "each host's balancer to all API servers"),
		tcp(ControlPlanes, ControlPlanes, 10250, "API servers to kubelets"),
		tcp(ControlPlanes, Workers, 10250, "API servers to kubelets"),
	}
	if balanced {
		out = append(out,
			tcp(Balancer, ControlPlanes, 6443, "connections from outside, and health checks"),
			tcp(APIFrom, Balancer, 6443, "people and programs outside the cluster"))
	}
	if s.Spec.Network.CNI == "flannel" {
		for _, from := range []Peer{ControlPlanes, Workers} {
			for _, to := range []Peer{ControlPlanes, Workers} {
				out = append(out, Rule{from, to, "udp", 8472, 8472, "pods on different hosts (VXLAN)"})
			}
		}
	}
	login := SSHFrom
	if access.SSH == "bastion" {
		login = Bastion
		out = append(out, tcp(SSHFrom, Bastion, 22, "clusterctl, on its way to the hosts"))
	}
	out = append(out, tcp(login, ControlPlanes, 22, "clusterctl"), tcp(login, Workers, 22, "clusterctl"))
	if len(access.NodePortsFrom) > 0 {
		for _, to := range []Peer{ControlPlanes, Workers} {
			out = append(out, Rule{NodePortsFrom, to, "tcp", 30000, 32767, "node ports, where the spec opens them"})
		}
	}
	return out
}
