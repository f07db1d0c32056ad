package kubernetes

import (
	"encoding/base64"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apiserverv1 "k8s.io/apiserver/pkg/apis/apiserver/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	podsecurityv1 "k8s.io/pod-security-admission/admission/api/v1"
	"sigs.k8s.io/yaml"

	"clusterctl/components"
	"clusterctl/components/etcd"
	"clusterctl/components/resource"
	"clusterctl/pki"
)

// APIServer is kube-apiserver on a control plane.
type APIServer struct{}

// Name is the unit's name without suffix.
func (APIServer) Name() string { return "kube-apiserver" }

const (
	servingPath     = components.PKIDir + "/apiserver.pem"
	etcdClientPath  = components.PKIDir + "/apiserver-etcd-client.pem"
	kubeletAuthPath = components.PKIDir + "/apiserver-kubelet-client.pem"
	proxyClientPath = components.PKIDir + "/front-proxy-client.pem"
	encryptionPath  = components.KubernetesDir + "/encryption.yaml"
	auditPath       = components.KubernetesDir + "/audit-policy.yaml"
	admissionPath   = components.KubernetesDir + "/admission.yaml"
	authnPath       = components.KubernetesDir + "/authentication.yaml"
	auditLogDir     = "/var/log/kubernetes"
)

// Resources gives certificates, policies and the unit.
func (c APIServer) Resources(n components.Node) ([]resource.Resource, error) {
	reads, err := apiServerFiles(n)
	if err != nil {
		return nil, err
	}
	unit, err := service(n, c.Name(), "notify", APIServerArgs(n), []string{"etcd.service"}, reads)
	logs := resource.Dir{Host: n.Host.Name, Path: auditLogDir, Mode: 0o700, Owner: "root:root"}
	return append(append(reads, logs), unit...), err
}

func apiServerFiles(n components.Node) ([]resource.Resource, error) {
	host := n.Host.Name
	out := []resource.Resource{
		components.Public(host, components.ClusterCAPath, n.Secrets.CA(pki.ClusterCA).CertPEM),
		components.Public(host, components.FrontProxyCAPath, n.Secrets.CA(pki.FrontProxyCA).CertPEM),
		components.Public(host, components.EtcdCAPath, n.Secrets.CA(pki.EtcdCA).CertPEM),
		components.Secret(host, components.ServiceKeyPath, n.Secrets.ServiceAccount().KeyPEM.Reveal()),
		components.Public(host, components.ServicePubPath, n.Secrets.ServiceAccount().PublicPEM),
	}
	for _, leaf := range []struct{ name, path string }{
		{pki.APIServer, servingPath}, {pki.APIServerEtcdClient, etcdClientPath},
		{pki.APIServerKubeletClient, kubeletAuthPath}, {pki.FrontProxyClient, proxyClientPath},
	} {
		f, err := n.LeafFile(host, leaf.name, leaf.path)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	audit, err := n.YAML(auditPath, auditPolicy())
	if err != nil {
		return nil, err
	}
	authn, err := n.YAML(authnPath, authentication())
	if err != nil {
		return nil, err
	}
	admission, err := admissionFile(n)
	if err != nil {
		return nil, err
	}
	out = append(out, audit, authn, admission)
	text, err := yaml.Marshal(encryption(n))
	if err != nil {
		return nil, err
	}
	return append(out, components.Secret(host, encryptionPath, text)), nil
}

// APIServerArgs is kube-apiserver's argument vector without the program.
func APIServerArgs(n components.Node) []string {
	net, k := n.Spec.Spec.Network, n.Spec.Spec.Kubernetes
	own := map[string]string{
		"advertise-address":                  n.Address(),
		"bind-address":                       wildcard(n),
		"secure-port":                        strconv.Itoa(components.APIServerPort),
		"etcd-servers":                       strings.Join(etcd.Endpoints(n), ","),
		"etcd-cafile":                        components.EtcdCAPath,
		"etcd-certfile":                      etcdClientPath,
		"etcd-keyfile":                       etcdClientPath,
		"client-ca-file":                     components.ClusterCAPath,
		"tls-cert-file":                      servingPath,
		"tls-private-key-file":               servingPath,
		"service-account-issuer":             "https://kubernetes.default.svc." + net.ClusterDomain,
		"service-account-key-file":           components.ServicePubPath,
		"service-account-signing-key-file":   components.ServiceKeyPath,
		"service-cluster-ip-range":           net.ServiceCIDR,
		"authorization-mode":                 "Node,RBAC",
		"authentication-config":              authnPath,
		"enable-admission-plugins":           "NodeRestriction",
		"admission-control-config-file":      admissionPath,
		"audit-policy-file":                  auditPath,
		"audit-log-path":                     auditLogDir + "/audit.log",
		"audit-log-maxage":                   "30",
		"audit-log-maxbackup":                "5",
		"audit-log-maxsize":                  "100",
		"kubelet-client-certificate":         kubeletAuthPath,
		"kubelet-client-key":                 kubeletAuthPath,
		"kubelet-certificate-authority":      components.ClusterCAPath,
		"kubelet-preferred-address-types":    "InternalIP,Hostname",
		"proxy-client-cert-file":             proxyClientPath,
		"proxy-client-key-file":              proxyClientPath,
		"requestheader-client-ca-file":       components.FrontProxyCAPath,
		"requestheader-allowed-names":        "front-proxy-client",
		"requestheader-username-headers":     "X-Remote-User",
		"requestheader-group-headers":        "X-Remote-Group",
		"requestheader-extra-headers-prefix": "X-Remote-Extra-",
		"encryption-provider-config":         encryptionPath,
		"allow-privileged":                   "true",
		"profiling":                          "false",
		"goaway-chance":                      "0.001",
		"shutdown-delay-duration":            "2s",
		// GOAWAY at once: clients then go to another server with the same request. The alternative
		// answers with 429 and has every client wait for 5 s (apiserver/pkg/server/filters/with_retry_after.go).
		"shutdown-send-retry-after":               "false",
		"shutdown-watch-termination-grace-period": "2s",
	}
	return components.Flags(emulate(n, own), k.APIServerArgs)
}

// authentication lets nobody in without credentials, but for the health endpoints, which
// balancers must be able to ask.
func authentication() apiserverv1.AuthenticationConfiguration {
	return apiserverv1.AuthenticationConfiguration{
		TypeMeta: metav1.TypeMeta{APIVersion: "apiserver.config.k8s.io/v1", Kind: "AuthenticationConfiguration"},
		Anonymous: &apiserverv1.AnonymousAuthConfig{Enabled: true, Conditions: []apiserverv1.AnonymousAuthCondition{
			{Path: "/livez"}, {Path: "/readyz"}, {Path: "/healthz"},
		}},
	}
}

// encryption writes Secrets as the spec wants, the first provider, and reads what any other value of
// the field has written before: with none they are written plain, and the old ones are not lost.
func encryption(n components.Node) apiserverv1.EncryptionConfiguration {
	key := n.Secrets.Encryption()
	keys := []apiserverv1.Key{{Name: key.Name, Secret: base64.StdEncoding.EncodeToString(key.Key.Reveal())}}
	providers := map[string]apiserverv1.ProviderConfiguration{
		"secretbox": {Secretbox: &apiserverv1.SecretboxConfiguration{Keys: keys}},
		"aescbc":    {AESCBC: &apiserverv1.AESConfiguration{Keys: keys}},
		"none":      {Identity: &apiserverv1.IdentityConfiguration{}},
	}
	first := n.Spec.Spec.Kubernetes.Encryption
	ordered := []apiserverv1.ProviderConfiguration{providers[first]}
	for _, name := range []string{"secretbox", "aescbc", "none"} {
		if name != first {
			ordered = append(ordered, providers[name])
		}
	}
	return apiserverv1.EncryptionConfiguration{
		TypeMeta:  metav1.TypeMeta{APIVersion: "apiserver.config.k8s.io/v1", Kind: "EncryptionConfiguration"},
		Resources: []apiserverv1.ResourceConfiguration{{Resources: []string{"secrets"}, Providers: ordered}},
	}
}

// auditPolicy records who did what, never the content of Secrets and tokens, and leaves out the
// components' own reading.
func auditPolicy() auditv1.Policy {
	core := func(r ...string) []auditv1.GroupResources { return []auditv1.GroupResources{{Resources: r}} }
	return auditv1.Policy{
		TypeMeta:   metav1.TypeMeta{APIVersion: "audit.k8s.io/v1", Kind: "Policy"},
		OmitStages: []auditv1.Stage{auditv1.StageRequestReceived},
		Rules: []auditv1.PolicyRule{
			{Level: auditv1.LevelNone, NonResourceURLs: []string{"/healthz*", "/livez*", "/readyz*", "/version", "/openapi*"}},
			{Level: auditv1.LevelNone, Resources: []auditv1.GroupResources{{Resources: []string{"events"}}, {Group: "events.k8s.io"}}},
			{Level: auditv1.LevelNone, Resources: []auditv1.GroupResources{{Group: "coordination.k8s.io", Resources: []string{"leases"}}}},
			{Level: auditv1.LevelNone, UserGroups: []string{"system:nodes"}, Verbs: []string{"get", "list", "watch"}},
			{Level: auditv1.LevelNone, Users: []string{"system:kube-controller-manager", "system:kube-scheduler", "system:kube-proxy", "system:apiserver"}, Verbs: []string{"get", "list", "watch"}},
			{Level: auditv1.LevelMetadata, Resources: append(core("secrets", "configmaps", "serviceaccounts/token"), auditv1.GroupResources{Group: "authentication.k8s.io", Resources: []string{"tokenreviews"}})},
			{Level: auditv1.LevelRequest, Verbs: []string{"create", "update", "patch", "delete", "deletecollection"}},
			{Level: auditv1.LevelMetadata},
		},
	}
}

// admissionFile sets the pod security level of namespaces that set none.
func admissionFile(n components.Node) (resource.File, error) {
	level := n.Spec.Spec.Kubernetes.PodSecurity
	security := podsecurityv1.PodSecurityConfiguration{
		TypeMeta: metav1.TypeMeta{APIVersion: "pod-security.admission.config.k8s.io/v1", Kind: "PodSecurityConfiguration"},
		Defaults: podsecurityv1.PodSecurityDefaults{
			Enforce: level, EnforceVersion: "latest", Audit: level, AuditVersion: "latest", Warn: level, WarnVersion: "latest",
		},
		Exemptions: podsecurityv1.PodSecurityExemptions{Namespaces: []string{metav1.NamespaceSystem}},
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&security)
	if err != nil {
		return resource.File{}, err
	}
	return n.YAML(admissionPath, map[string]any{
		"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration",
		"plugins": []any{map[string]any{"name": "PodSecurity", "configuration": fields}},
	})
}
