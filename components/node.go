// Package components says what runs on a host: each component turns a Node into the resources
// it needs. Everything here is pure: no I/O, no clock, no randomness.
package components

import (
	"fmt"
	"io"
	"net"
	"strconv"

	"clusterctl/components/release"
	"clusterctl/components/resource"
	"clusterctl/pki"
	"clusterctl/provision/inventory"
	"clusterctl/provision/spec"
)

// Where things are on every host.
const (
	InstallDir    = "/opt/clusterctl"
	LinkDir       = "/usr/local/bin"
	CNIBinDir     = "/opt/cni/bin"
	CNIConfDir    = "/etc/cni/net.d"
	KubernetesDir = "/etc/kubernetes"
	PKIDir        = "/etc/kubernetes/pki"
	UnitDir       = "/etc/systemd/system"
	EtcdDataDir   = "/var/lib/etcd"
	EtcdMemberDir = EtcdDataDir + "/member"
	StampDir      = "/var/lib/clusterctl"
	IdentityPath  = "/var/lib/clusterctl/identity.json"
)

// Ports that the components listen on.
const (
	APIServerPort         = 6443
	BalancerPort          = 7443
	BalancerHealthPort    = 7444
	EtcdClientPort        = 2379
	EtcdPeerPort          = 2380
	EtcdMetricsPort       = 2381
	KubeletPort           = 10250
	KubeletHealthPort     = 10248
	KubeProxyHealthPort   = 10256
	KubeProxyMetricsPort  = 10249
	ControllerManagerPort = 10257
	CloudControllerPort   = 10258
	SchedulerPort         = 10259
	VXLANPort             = 8472
	FlannelHealthPort     = 10241
)

// Component turns a node into the resources that must be there.
type Component interface {
	Name() string
	// Resources gives what the node needs, in the order in which it is put there.
	Resources(n Node) ([]resource.Resource, error)
}

// Binary is one artifact of the bundle: an executable or an image archive.
type Binary struct {
	Name, Version string
	SHA256        string
	Size          int64
	Reference     string // images: full name
	ImageDigest   string // images: digest of the manifest
	Open          func() (io.ReadCloser, error)
}

// HostFacts is what a component's settings depend on, as the host reported it.
type HostFacts struct {
	CgroupV2    bool   `json:"cgroupV2"`
	SysResource bool   `json:"sysResource"` // CAP_SYS_RESOURCE is there
	Container   bool   `json:"container"`   // the host is itself a container
	ResolvConf  string `json:"resolvConf"`  // file with real name servers; never a loopback stub
}

// Node is all that a component may look at.
type Node struct {
	Spec      *spec.Cluster
	Inventory inventory.Inventory
	Host      inventory.Host
	Facts     HostFacts
	Release   release.Release
	Secrets   *pki.Secrets
	Identity  Identity
	EtcdStart EtcdStart // zero: the node's member founds the cluster with those of the identity
	Binaries  map[string]Binary
	Written   *Written // texts that nodes of one plan share; may be nil
	Emulated  string   // minor version that the control plane behaves as, such as 1.36; empty: its own
}

// Identity is the etcd cluster that members may form or join, decided once before the first
// member starts.
type Identity struct {
	EtcdToken     string
	EtcdClusterID string
	EtcdMembers   []EtcdMember
}

// EtcdStart is what an etcd member that has no data yet starts with.
type EtcdStart struct {
	Existing bool // it joins a cluster; else it founds one
	Members  []EtcdMember
}

// EtcdMember is one member of the identity.
type EtcdMember struct{ Name, PeerURL string }

// IsControlPlane tells whether the node runs etcd and an API server.
func (n Node) IsControlPlane() bool { return n.Host.Role == inventory.ControlPlane }

// Address is the node's cluster address as text, without brackets.
func (n Node) Address() string { return n.Host.Address.String() }

// HostPort joins an address and a port, with brackets where IPv6 needs them.
func HostPort(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }

// URL gives scheme://address:port, with brackets where IPv6 needs them.
func URL(scheme, host string, port int) string {
	return scheme + "://" + HostPort(host, port)
}

// Binary finds an artifact of the bundle by name.
func (n Node) Binary(name string) (Binary, error) {
	b, ok := n.Binaries[name]
	if !ok {
		with := ""
		if part := n.Release.PartOf(name); part != "" {
			with = " --with " + part
		}
		return Binary{}, fmt.Errorf("bundle for %s has no %q; build it again with: clusterctl bundle build --kubernetes %s%s",
			n.Release.Kubernetes, name, n.Release.Kubernetes, with)
	}
	return b, nil
}

// Install is the path of a component's file: every version has its own directory, so that a
// running program and the arguments that start it next time change together.
func Install(component, version, file string) string {
	return InstallDir + "/" + component + "/" + version + "/" + file
}
