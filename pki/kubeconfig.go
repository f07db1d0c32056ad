package pki

import (
	clientcmd "k8s.io/client-go/tools/clientcmd/api/v1"
	"sigs.k8s.io/yaml"
)

// Kubeconfig gives a kubeconfig file with everything embedded, so that it can be moved and is
// replaced as a whole. It holds the leaf's private key. server is a URL: https://192.0.2.1:6443.
func Kubeconfig(cluster, server string, caPEM []byte, leaf Leaf) []byte {
	user := leaf.Name
	context := user + "@" + cluster
	data, err := yaml.Marshal(clientcmd.Config{
		APIVersion: "v1",
		Kind:       "Config",
		Clusters: []clientcmd.NamedCluster{{
			Name:    cluster,
			Cluster: clientcmd.Cluster{Server: server, CertificateAuthorityData: caPEM},
		}},
		AuthInfos: []clientcmd.NamedAuthInfo{{
			Name:     user,
			AuthInfo: clientcmd.AuthInfo{ClientCertificateData: leaf.CertPEM, ClientKeyData: leaf.KeyPEM.Reveal()},
		}},
		Contexts: []clientcmd.NamedContext{{
			Name:    context,
			Context: clientcmd.Context{Cluster: cluster, AuthInfo: user},
		}},
		CurrentContext: context,
	})
	if err != nil {
		panic("kubeconfig of plain strings and bytes did not marshal: " + err.Error()) // cannot happen
	}
	return data
}
