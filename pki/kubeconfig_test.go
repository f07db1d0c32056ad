package pki

import (
	"bytes"
	"crypto/tls"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
)

func TestKubeconfigIsReadByKubectl(t *testing.T) {
	c, inv := testCluster(1, 0)
	s := mustNew(t, "")
	mustEnsure(t, s, Table(c, inv), noon)
	leaf, _ := s.Leaf("", Admin)
	data := Kubeconfig("dev", []APIEndpoint{{URL: "https://[2001:db8::11]:6443"}}, s.CA(ClusterCA).CertPEM, leaf)
	cfg, err := clientcmd.RESTConfigFromKubeConfig(data)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Host != "https://[2001:db8::11]:6443" || !bytes.Equal(cfg.CAData, s.CA(ClusterCA).CertPEM) {
		t.Errorf("host %s", cfg.Host)
	}
	if _, err := tls.X509KeyPair(cfg.CertData, cfg.KeyData); err != nil {
		t.Error(err)
	}
	if !bytes.Equal(data, Kubeconfig("dev", []APIEndpoint{{URL: "https://[2001:db8::11]:6443"}}, s.CA(ClusterCA).CertPEM, leaf)) {
		t.Error("two calls differ")
	}
}
