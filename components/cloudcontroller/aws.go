// Package cloudcontroller is what connects nodes with the cloud that their machines are of:
// Kubernetes' cloud controller for AWS as a unit on control planes, or one that the user brings.
package cloudcontroller

import (
	"strconv"

	"clusterctl/components"
	"clusterctl/components/resource"
	"clusterctl/pki"
)

// AWSName is the unit's name without suffix, the program's, its component's and its artifact's.
const AWSName = "aws-cloud-controller-manager"

// AWS is Kubernetes' cloud controller for AWS on a control plane, bound to its own host's API server as
// the other controllers are. The one of them that leads works.
type AWS struct{}

// Name is the unit's name without suffix.
func (AWS) Name() string { return AWSName }

const (
	awsKubeconfig = components.KubernetesDir + "/cloud-controller.conf"
	awsConfigPath = components.KubernetesDir + "/cloud-controller-aws.conf"
	awsCert       = components.PKIDir + "/cloud-controller.pem"
)

// Resources gives program, kubeconfig, certificate, configuration and the unit.
func (c AWS) Resources(n components.Node) ([]resource.Resource, error) {
	host := n.Host.Name
	program, err := n.Program(AWSName, AWSName, AWSName)
	if err != nil {
		return nil, err
	}
	conf, err := n.KubeconfigFile(host, pki.CloudController, components.LocalAPI(), awsKubeconfig)
	if err != nil {
		return nil, err
	}
	serving, err := n.LeafFile(host, pki.CloudControllerServing, awsCert)
	if err != nil {
		return nil, err
	}
	text, err := awsConfig(n.Spec)
	if err != nil {
		return nil, err
	}
	reads := []resource.Resource{
		program, conf, serving, components.Public(host, awsConfigPath, text),
		components.Public(host, components.ClusterCAPath, n.Secrets.CA(pki.ClusterCA).CertPEM),
		components.Public(host, components.FrontProxyCAPath, n.Secrets.CA(pki.FrontProxyCA).CertPEM),
	}
	unit, err := components.Service{
		Name: AWSName, Description: "Kubernetes cloud controller for AWS", Type: "exec",
		After: []string{"network-online.target", "kube-apiserver.service"}, Wants: []string{"network-online.target"},
		Args: append([]string{program.Path}, AWSArgs(n)...), Limits: n.Facts.SysResource, OOMScore: -900,
	}.Resources(host, reads...)
	return append(reads, unit...), err
}

// AWSArgs is the cloud controller's argument vector without the program. Pods of different hosts are
// connected by the pod network, so there are no routes to make in the cloud.
func AWSArgs(n components.Node) []string {
	return components.Flags(map[string]string{
		"cloud-provider":               "aws",
		"cloud-config":                 awsConfigPath,
		"cluster-name":                 n.Spec.Metadata.Name,
		"allocate-node-cidrs":          "false",
		"configure-cloud-routes":       "false",
		"kubeconfig":                   awsKubeconfig,
		"authentication-kubeconfig":    awsKubeconfig,
		"authorization-kubeconfig":     awsKubeconfig,
		"authentication-skip-lookup":   "true", // the authorities are in files, and may be asked for nowhere else
		"client-ca-file":               components.ClusterCAPath,
		"requestheader-client-ca-file": components.FrontProxyCAPath,
		"bind-address":                 "127.0.0.1",
		"secure-port":                  strconv.Itoa(components.CloudControllerPort),
		"tls-cert-file":                awsCert,
		"tls-private-key-file":         awsCert,
		"leader-elect":                 "true",
		"profiling":                    "false",
	}, nil)
}
