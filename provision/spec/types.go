// Package spec is the cluster spec file: its types, strict reading, defaults, validation and
// JSON Schema. It is a leaf: it knows nothing of hosts, phases or components.
//
// The types in types.go are the only list of fields: the reader, the plain defaults, the
// enumerations and the schema come from their json and jsonschema tags.
package spec

// APIVersion and Kind are what a spec file must say.
const (
	APIVersion = "clusterctl/v1alpha1"
	Kind       = "Cluster"
)

// Cluster is one spec file.
type Cluster struct {
	// Version of this file's format, always clusterctl/v1alpha1.
	APIVersion string `json:"apiVersion" jsonschema:"enum=clusterctl/v1alpha1"`
	// Kind of this file, always Cluster.
	Kind string `json:"kind" jsonschema:"enum=Cluster"`
	// What the cluster is called.
	Metadata Metadata `json:"metadata"`
	// What the cluster must be.
	Spec Spec `json:"spec"`

	// Path is the file that was read and Hash the SHA-256 of its bytes; both are set by Load.
	Path string `json:"-"`
	Hash string `json:"-"`
}

// Metadata names the cluster.
type Metadata struct {
	// Name of the cluster: a DNS label (RFC 1123), part of host names and of the state directory.
	Name string `json:"name" jsonschema:"pattern=^[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?$,maxLength=63"`
}

// Spec is what the cluster must be.
type Spec struct {
	// Kubernetes' version and its components' settings.
	Kubernetes Kubernetes `json:"kubernetes"`
	// Where the hosts come from; exactly one provider.
	Provider Provider `json:"provider"`
	// The hosts that run etcd, the API server and the controllers.
	ControlPlane ControlPlane `json:"controlPlane"`
	// Pools of hosts that run pods only.
	Workers []WorkerPool `json:"workers,omitempty"`
	// Address ranges and how pods are connected.
	Network Network `json:"network,omitempty"`
	// The etcd members' settings.
	Etcd Etcd `json:"etcd,omitempty"`
	// Keys and certificates.
	PKI PKI `json:"pki,omitempty"`
	// How the host is checked and prepared.
	Host HostSettings `json:"host,omitempty"`
	// How running hosts are restarted and moved to another version.
	UpgradePolicy UpgradePolicy `json:"upgradePolicy,omitempty"`
	// Where keys, certificates and the journal are kept. Default: plain files in a directory beside the spec.
	State State `json:"state,omitempty"`
	// Names of clusters whose pods or services this one must reach: their address ranges must not overlap. Checked by spec validate over several files.
	Peers []string `json:"peers,omitempty"`
}

// Kubernetes is the version and the components' settings.
type Kubernetes struct {
	// Version as x.y.z; a leading v is allowed.
	Version string `json:"version" jsonschema:"pattern=^v?[0-9]+[.][0-9]+[.][0-9]+(-[0-9A-Za-z.-]+)?$"`
	// Additional arguments of kube-apiserver, without leading dashes. Arguments that the tool owns are refused.
	APIServerArgs map[string]string `json:"apiServerArgs,omitempty"`
	// Additional arguments of kube-controller-manager.
	ControllerManagerArgs map[string]string `json:"controllerManagerArgs,omitempty"`
	// Additional arguments of kube-scheduler.
	SchedulerArgs map[string]string `json:"schedulerArgs,omitempty"`
	// Additional arguments of the kubelet.
	KubeletArgs map[string]string `json:"kubeletArgs,omitempty"`
	// Additional arguments of kube-proxy.
	KubeProxyArgs map[string]string `json:"kubeProxyArgs,omitempty"`
	// Pod security level enforced in namespaces that set none: privileged, baseline or restricted. Default baseline outside kube-system.
	PodSecurity string `json:"podSecurity,omitempty" jsonschema:"enum=privileged,enum=baseline,enum=restricted,default=baseline"`
	// How Secrets are written to etcd: secretbox, aescbc or none. Whatever wrote them before is still read; a Secret changes when it is next written: kubectl get secrets -A -o json | kubectl replace -f - writes all of them again. Default secretbox.
	Encryption string `json:"encryption,omitempty" jsonschema:"enum=secretbox,enum=aescbc,enum=none,default=secretbox"`
}

// Provider says where hosts come from; exactly one field is set.
type Provider struct {
	// Hosts as containers with systemd and sshd on this machine (needs root).
	Local *Local `json:"local,omitempty"`
	// Hosts that exist already and are reached over SSH.
	SSH *SSHProvider `json:"ssh,omitempty"`
	// Hosts that are made as EC2 instances on AWS.
	AWS *AWS `json:"aws,omitempty"`
	// Hosts that are made as Compute Engine instances on GCP.
	GCP *GCP `json:"gcp,omitempty"`
	// Hosts that are made as virtual machines of a vCenter.
	VSphere *VSphere `json:"vsphere,omitempty"`
}

// Local makes hosts on this machine.
type Local struct {
	// IPv4 range that the hosts take their addresses from. Default: a /24 of 10.89.0.0/16 chosen by the cluster's name.
	Subnet string `json:"subnet,omitempty"`
}

// SSHProvider has what all SSH hosts share; a host may override each field.
type SSHProvider struct {
	SSHSettings `json:",inline"`
}

// SSHSettings is how a host is reached.
type SSHSettings struct {
	// Login user. Default: what ~/.ssh/config says of the address, else root.
	User string `json:"user,omitempty"`
	// TCP port of sshd. Default: what ~/.ssh/config says, else 22.
	Port int `json:"port,omitempty" jsonschema:"minimum=1,maximum=65535"`
	// Private key file, or the public half of a key that the agent holds. ~ is expanded. Default: the agent's keys, then those that ~/.ssh/config names.
	KeyPath string `json:"keyPath,omitempty"`
	// known_hosts file that host keys are checked against. Default ~/.ssh/known_hosts.
	KnownHostsPath string `json:"knownHostsPath,omitempty"`
	// Accept any host key. For throw-away hosts only. On for all hosts when set for the provider.
	InsecureHostKey bool `json:"insecureHostKey,omitempty"`
	// sudo asks for a password; it is read from the environment variable CLUSTERCTL_SUDO_PASSWORD or asked for. On for all hosts when set for the provider.
	SudoPassword bool `json:"sudoPassword,omitempty"`
	// Host to go through. Default: ProxyJump of ~/.ssh/config.
	Bastion *Bastion `json:"bastion,omitempty"`
}

// Bastion is a host on the way.
type Bastion struct {
	// Host name or IP address.
	Address string `json:"address"`
	// Login user. Default: the host's.
	User string `json:"user,omitempty"`
	// TCP port of sshd. Default: what ~/.ssh/config says, else 22.
	Port int `json:"port,omitempty" jsonschema:"minimum=1,maximum=65535"`
	// Private or public key file. Default: the host's.
	KeyPath string `json:"keyPath,omitempty"`
}

// ControlPlane is the hosts that run etcd, the API server and the controllers.
type ControlPlane struct {
	// How many hosts the provider makes: 1, 3 or 5. Not with ssh.
	Replicas int `json:"replicas,omitempty" jsonschema:"enum=1,enum=3,enum=5"`
	// The hosts, with ssh: 1, 3 or 5.
	Hosts []Host `json:"hosts,omitempty"`
	// Load balancer, VIP or DNS name in front of all API servers, as host or host:port (default port 6443). Optional.
	Endpoint string `json:"endpoint,omitempty"`
	// Additional names and addresses in the API servers' certificates.
	CertSANs []string `json:"certSANs,omitempty"`
	// Let ordinary pods run on control planes. Default false, or true when there are no workers.
	Schedulable *bool `json:"schedulable,omitempty"`
}

// WorkerPool is a group of equal hosts.
type WorkerPool struct {
	// Name of the pool, part of the host names.
	Name string `json:"name" jsonschema:"pattern=^[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?$,maxLength=63"`
	// How many hosts the provider makes. Not with ssh.
	Replicas int `json:"replicas,omitempty" jsonschema:"minimum=0"`
	// The hosts, with ssh.
	Hosts []Host `json:"hosts,omitempty"`
	// Node labels.
	Labels map[string]string `json:"labels,omitempty"`
	// Node taints.
	Taints []Taint `json:"taints,omitempty"`
}

// Taint keeps pods away that do not tolerate it.
type Taint struct {
	// Taint key.
	Key string `json:"key"`
	// Taint value.
	Value string `json:"value,omitempty"`
	// NoSchedule, PreferNoSchedule or NoExecute.
	Effect string `json:"effect" jsonschema:"enum=NoSchedule,enum=PreferNoSchedule,enum=NoExecute"`
}

// Host is a machine that exists already.
type Host struct {
	// Name of the host and of its node; lower-cased.
	Name string `json:"name" jsonschema:"pattern=^[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?$,maxLength=63"`
	// Where SSH goes: host name or IP address.
	Address string `json:"address"`
	// Address that the cluster's own traffic uses, when it is not the SSH address.
	PrivateAddress string `json:"privateAddress,omitempty"`
	// Labels of this node alone; they win over those of the pool.
	Labels map[string]string `json:"labels,omitempty"`

	SSHSettings `json:",inline"`
}

// Network is address ranges and how pods are connected.
type Network struct {
	// Range of pod addresses. Default 10.244.0.0/16.
	PodCIDR string `json:"podCIDR,omitempty" jsonschema:"default=10.244.0.0/16"`
	// Range of service addresses. Default 10.96.0.0/16.
	ServiceCIDR string `json:"serviceCIDR,omitempty" jsonschema:"default=10.96.0.0/16"`
	// Prefix length of one node's part of the pod range. Default 24 (IPv6: 64).
	NodeMask int `json:"nodeMask,omitempty" jsonschema:"minimum=1,maximum=128"`
	// How pods are connected over hosts: flannel or none (bring your own). Default flannel.
	CNI string `json:"cni,omitempty" jsonschema:"enum=flannel,enum=none,default=flannel"`
	// How services are served: nftables, iptables, ipvs or none. Default nftables.
	KubeProxy string `json:"kubeProxy,omitempty" jsonschema:"enum=nftables,enum=iptables,enum=ipvs,enum=none,default=nftables"`
	// DNS domain of the cluster. Default cluster.local.
	ClusterDomain string `json:"clusterDomain,omitempty" jsonschema:"default=cluster.local"`
	// Servers that cluster DNS asks for names outside the cluster. Default: the host's own.
	UpstreamDNS []string `json:"upstreamDNS,omitempty"`
}

// Etcd is the members' settings.
type Etcd struct {
	// Additional arguments of etcd, without leading dashes.
	Args map[string]string `json:"args,omitempty"`
	// Space quota of the database, such as 8Gi. Default 8Gi.
	Quota string `json:"quota,omitempty" jsonschema:"default=8Gi"`
}

// PKI is keys and certificates.
type PKI struct {
	// Key algorithm: ecdsa (P-256) or rsa (3072). Default ecdsa.
	Algorithm string `json:"algorithm,omitempty" jsonschema:"enum=ecdsa,enum=rsa,default=ecdsa"`
}

// HostSettings is how hosts are checked and prepared.
type HostSettings struct {
	// disable turns swap off now and at boot, allow lets the kubelet run with it. Default disable.
	Swap string `json:"swap,omitempty" jsonschema:"enum=disable,enum=allow,default=disable"`
	// Names of preflight checks whose findings are warnings instead of errors.
	IgnorePreflight []string `json:"ignorePreflight,omitempty"`
}

// UpgradePolicy is how running hosts are restarted and moved to another version.
type UpgradePolicy struct {
	// How many workers are restarted at the same time, as a number or a percentage; never none, and never all of several. Default 10%.
	MaxUnavailable string `json:"maxUnavailable,omitempty" jsonschema:"pattern=^[1-9][0-9]*%?$,default=10%"`
	// How long the pods of a node may take to leave it, such as 5m. Default 5m.
	DrainTimeout string `json:"drainTimeout,omitempty" jsonschema:"default=5m"`
	// What is done when pods do not leave in time: stop ends the run, skip leaves the node out, delete deletes them whatever their disruption budget says. Default stop.
	StuckBudget string `json:"stuckBudget,omitempty" jsonschema:"enum=stop,enum=skip,enum=delete,default=stop"`
	// In a new minor version the control plane first behaves as the minor version before, and etcd and all nodes stay as they are: going back is possible until this is false and up was run. Default false.
	Emulate bool `json:"emulate,omitempty"`
}

// State is where keys, certificates and the journal are kept.
type State struct {
	// Encrypts what is secret in the state with age, so that it can be committed: X25519 recipients (age1...) or SSH public keys (ssh-ed25519, ssh-rsa). Opening it needs one of their private keys in CLUSTERCTL_AGE_IDENTITY.
	AgeRecipients []string `json:"ageRecipients,omitempty"`
	// Keeps the state in an S3-compatible bucket, for several people and machines.
	S3 *S3State `json:"s3,omitempty"`
}

// S3State is a place in a bucket. Credentials come from the environment or ~/.aws, never from here.
type S3State struct {
	// Name of the bucket, which must exist.
	Bucket string `json:"bucket"`
	// What object names begin with. Default clusterctl/ and the cluster's name.
	Prefix string `json:"prefix,omitempty"`
	// Server as URL; with http the connection is not encrypted. Default https://s3.amazonaws.com.
	Endpoint string `json:"endpoint,omitempty" jsonschema:"default=https://s3.amazonaws.com"`
	// Region of the bucket. Default: the server tells.
	Region string `json:"region,omitempty"`
}
