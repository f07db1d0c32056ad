package components

import (
	"fmt"

	"clusterctl/components/resource"
	"clusterctl/pki"
)

// Paths of keys and certificates on hosts. A leaf and its key are one file, so that a renewal
// replaces both by one rename.
const (
	ClusterCAPath    = PKIDir + "/ca.crt"
	ClusterCAKeyPath = PKIDir + "/ca.key"
	FrontProxyCAPath = PKIDir + "/front-proxy-ca.crt"
	EtcdCAPath       = PKIDir + "/etcd/ca.crt"
	ServiceKeyPath   = PKIDir + "/sa.key"
	ServicePubPath   = PKIDir + "/sa.pub"
)

// LeafFile is a certificate with its key at a path of the node.
func (n Node) LeafFile(owner, name, path string) (resource.File, error) {
	leaf, ok := n.Secrets.Leaf(owner, name)
	if !ok {
		return resource.File{}, fmt.Errorf("%s: certificate %q was not issued", n.Host.Name, name)
	}
	return Secret(n.Host.Name, path, leaf.Bundle().Reveal()), nil
}

// KubeconfigFile is a kubeconfig that holds the certificate name and points at server.
func (n Node) KubeconfigFile(owner, name, server, path string) (resource.File, error) {
	leaf, ok := n.Secrets.Leaf(owner, name)
	if !ok {
		return resource.File{}, fmt.Errorf("%s: certificate %q was not issued", n.Host.Name, name)
	}
	text, err := n.Written.once("kubeconfig "+owner+" "+name+" "+server, func() ([]byte, error) {
		return pki.Kubeconfig(n.Spec.Metadata.Name, []pki.APIEndpoint{{URL: server}}, n.Secrets.CA(pki.ClusterCA).CertPEM, leaf), nil
	})
	return Secret(n.Host.Name, path, text), err
}

// LocalAPI is the API server on the node itself, for controllers (Kubernetes version skew policy:
// no controller may be newer than an API server it can reach).
func LocalAPI() string { return URL("https", "127.0.0.1", APIServerPort) }

// BalancedAPI is the node's balancer over all API servers, for kubelet, proxy and network.
func BalancedAPI() string { return URL("https", "127.0.0.1", BalancerPort) }
