package phases

import (
	"context"
	"errors"
	"fmt"
	"net"

	"clusterctl/components"
	"clusterctl/phases/etcdapi"
	"clusterctl/phases/kube"
	"clusterctl/pki"
	"clusterctl/provision/host"
	"clusterctl/provision/inventory"
)

// Env is the hands of a run: hosts that can be asked, and the cluster's API through them.
type Env struct {
	Cluster *Cluster
	Hosts   *host.Pool
	Skip    map[string]bool // hosts that cannot be reached in this run

	api *kube.Client
}

// NewEnv makes the hands for one run.
func NewEnv(c *Cluster, hosts *host.Pool, skip map[string]bool) (*Env, error) {
	e := &Env{Cluster: c, Hosts: hosts, Skip: skip}
	leaf, ok := c.Secrets.Leaf("", pki.SuperAdmin)
	if !ok {
		return nil, errors.New("the tool's own client certificate was not issued")
	}
	var err error
	e.api, err = kube.New(e.dialAPI, kube.Credentials{CA: c.Secrets.CA(pki.ClusterCA).CertPEM, Cert: leaf.CertPEM, Key: leaf.KeyPEM.Reveal()})
	return e, err
}

// API is the cluster's API. Its connections go to the first control plane that answers.
func (e *Env) API(context.Context) (*kube.Client, error) { return e.api, nil }

// dialAPI is DialAPI for a client that names an address of its own.
func (e *Env) dialAPI(ctx context.Context, _, _ string) (net.Conn, error) { return e.DialAPI(ctx) }

// DialAPI connects to the API server of the first control plane where one listens.
func (e *Env) DialAPI(ctx context.Context) (net.Conn, error) {
	var errs []error
	for _, h := range e.Cluster.reachable(e.Skip) {
		if h.Role != inventory.ControlPlane {
			continue
		}
		c, err := e.dial(ctx, h.Name, components.APIServerPort)
		if err == nil {
			return c, nil
		}
		errs = append(errs, fmt.Errorf("%s: %w", h.Name, err))
	}
	return nil, fmt.Errorf("no API server answers: %w", errors.Join(errs...))
}

func (e *Env) dial(ctx context.Context, name string, port int) (net.Conn, error) {
	h, err := e.Hosts.Get(name)
	if err != nil {
		return nil, err
	}
	return h.Dial(ctx, "tcp", components.HostPort("127.0.0.1", port))
}

// EtcdMember asks the member on a control plane how it is.
func (e *Env) EtcdMember(ctx context.Context, name string) (etcdapi.Status, error) {
	h, err := e.Hosts.Get(name)
	if err != nil {
		return etcdapi.Status{}, err
	}
	leaf, ok := e.Cluster.Secrets.Leaf(name, pki.APIServerEtcdClient)
	if !ok {
		return etcdapi.Status{}, fmt.Errorf("no etcd client certificate for %s", name)
	}
	return etcdapi.Member(ctx, name, h.Dial, etcdapi.Credentials{CA: e.Cluster.Secrets.CA(pki.EtcdCA).CertPEM, Cert: leaf.CertPEM, Key: leaf.KeyPEM.Reveal()})
}
