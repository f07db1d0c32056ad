package pki

import (
	clientcmd "k8s.io/client-go/tools/clientcmd/api/v1"
	"sigs.k8s.io/yaml"
)

// APIEndpoint is where an API server is reached.
type APIEndpoint struct {
	Host string // control plane; empty for an address in front of all
	URL  string // https://192.0.2.1:6443
}

// Kubeconfig gives a kubeconfig file with everything embedded, so that it can be moved and is
// replaced as a whole. It holds the leaf's private key. There is a context for each endpoint;
// the first is current. With several, a person whose control plane is away chooses another with
// kubectl --context.
func Kubeconfig(cluster string, endpoints []APIEndpoint, caPEM []byte, leaf Leaf) []byte {
	user := leaf.Name
	config := clientcmd.Config{
		APIVersion: "v1",
		Kind:       "Config",
		AuthInfos: []clientcmd.NamedAuthInfo{{
			Name:     user,
			AuthInfo: clientcmd.AuthInfo{ClientCertificateData: leaf.CertPEM, ClientKeyData: leaf.KeyPEM.Reveal()},
		}},
	}
	for i, e := range endpoints {
		name := cluster
		if i > 0 {
			name = e.Host
		}
		context := user + "@" + name
		config.Clusters = append(config.Clusters, clientcmd.NamedCluster{
			Name: name, Cluster: clientcmd.Cluster{Server: e.URL, CertificateAuthorityData: caPEM},
		})
		config.Contexts = append(config.Contexts, clientcmd.NamedContext{
			Name: context, Context: clientcmd.Context{Cluster: name, AuthInfo: user},
		})
		if i == 0 {
			config.CurrentContext = context
		}
	}
	data, err := yaml.Marshal(config)
	if err != nil {
		panic("kubeconfig of plain strings and bytes did not marshal: " + err.Error()) // cannot happen
	}
	return data
}
