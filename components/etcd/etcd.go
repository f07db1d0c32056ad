// Package etcd is the configuration of an etcd member.
package etcd

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"clusterctl/components"
	res "clusterctl/components/resource"
	"clusterctl/pki"
)

// Component is an etcd member on a control plane.
type Component struct{}

// Name is the unit's name without suffix.
func (Component) Name() string { return "etcd" }

const (
	serverPath = components.PKIDir + "/etcd/server.pem"
	peerPath   = components.PKIDir + "/etcd/peer.pem"
	startPath  = components.KubernetesDir + "/etcd-start.env"
	unitName   = "etcd"
)

// Resources gives program, certificates, data directory and unit.
func (Component) Resources(n components.Node) ([]res.Resource, error) {
	host := n.Host.Name
	program, err := n.Program("etcd", "etcd", "etcd")
	if err != nil {
		return nil, err
	}
	server, err := n.LeafFile(host, pki.EtcdServer, serverPath)
	if err != nil {
		return nil, err
	}
	peer, err := n.LeafFile(host, pki.EtcdPeer, peerPath)
	if err != nil {
		return nil, err
	}
	ca := components.Public(host, components.EtcdCAPath, n.Secrets.CA(pki.EtcdCA).CertPEM)
	out := []res.Resource{
		program,
		res.Link{Host: host, Path: components.LinkDir + "/etcdctl", Target: program.Path},
		res.Link{Host: host, Path: components.LinkDir + "/etcdutl", Target: program.Path},
		ca, server, peer,
		res.Dir{Host: host, Path: components.EtcdDataDir, Mode: 0o700, Owner: "root:root"},
		res.Seed{File: components.Public(host, startPath, start(n)), Until: components.EtcdMemberDir},
	}
	args, err := Args(n)
	if err != nil {
		return nil, err
	}
	unit, err := components.Service{
		Name: unitName, Description: "etcd", Type: "notify",
		After: []string{"network-online.target", "time-sync.target"}, Wants: []string{"network-online.target"},
		EnvironmentFile: "-" + startPath, // needed by the first start only
		Args:            append([]string{program.Path}, args...), StartTimeout: 3 * time.Minute, StopTimeout: time.Minute,
		Limits: n.Facts.SysResource, OOMScore: -999,
		Detached: true, // READY only with a quorum, which needs the other members
	}.Resources(host, program, ca, server, peer)
	return append(out, unit...), err
}

// start is what a member without data reads: with which others it founds a cluster, or which it
// joins. With data etcd ignores all of it (etcd, "Runtime reconfiguration"), so it is no input of
// the unit: the list changes with every member, and nobody needs a restart for that.
func start(n components.Node) []byte {
	s := n.EtcdStart
	if len(s.Members) == 0 {
		s.Members = n.Identity.EtcdMembers
	}
	state := "new"
	if s.Existing {
		state = "existing"
	}
	var initial []string
	for _, m := range s.Members {
		initial = append(initial, m.Name+"="+m.PeerURL)
	}
	return fmt.Appendf(nil, "ETCD_INITIAL_CLUSTER=%s\nETCD_INITIAL_CLUSTER_STATE=%s\nETCD_INITIAL_CLUSTER_TOKEN=%s\n",
		strings.Join(initial, ","), state, n.Identity.EtcdToken)
}

// Args is the member's argument vector without the program (etcd "Configuration options").
func Args(n components.Node) ([]string, error) {
	addr := n.Address()
	quota, err := resource.ParseQuantity(n.Spec.Spec.Etcd.Quota)
	if err != nil {
		return nil, err
	}
	own := map[string]string{
		"name":                        n.Host.Name,
		"data-dir":                    components.EtcdDataDir,
		"listen-client-urls":          components.URL("https", addr, components.EtcdClientPort) + "," + components.URL("https", "127.0.0.1", components.EtcdClientPort),
		"advertise-client-urls":       components.URL("https", addr, components.EtcdClientPort),
		"listen-peer-urls":            components.URL("https", addr, components.EtcdPeerPort),
		"initial-advertise-peer-urls": components.URL("https", addr, components.EtcdPeerPort),
		"listen-metrics-urls":         components.URL("http", "127.0.0.1", components.EtcdMetricsPort),
		"strict-reconfig-check":       "true",
		"cert-file":                   serverPath,
		"key-file":                    serverPath,
		"trusted-ca-file":             components.EtcdCAPath,
		"client-cert-auth":            "true",
		"peer-cert-file":              peerPath,
		"peer-key-file":               peerPath,
		"peer-trusted-ca-file":        components.EtcdCAPath,
		"peer-client-cert-auth":       "true",
		"quota-backend-bytes":         strconv.FormatInt(quota.Value(), 10),
		"auto-compaction-mode":        "periodic",
		"auto-compaction-retention":   "1h",
		"snapshot-count":              "10000",
		"log-level":                   "info",
	}
	return components.Flags(own, n.Spec.Spec.Etcd.Args), nil
}

// Endpoints gives the client URLs of all members, the node's own first: an API server then
// prefers its neighbour and still survives it.
func Endpoints(n components.Node) []string {
	out := []string{}
	for _, h := range n.Inventory.ControlPlanes() {
		url := components.URL("https", h.Address.String(), components.EtcdClientPort)
		if h.Name == n.Host.Name {
			out = append([]string{url}, out...)
			continue
		}
		out = append(out, url)
	}
	return out
}
