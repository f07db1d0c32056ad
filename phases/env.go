package phases

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"clusterctl/components"
	"clusterctl/phases/apply"
	"clusterctl/phases/etcdapi"
	"clusterctl/phases/kube"
	"clusterctl/pki"
	"clusterctl/provision/host"
)

// Env is the hands of a run: hosts that can be asked, and the cluster's API through them.
type Env struct {
	Cluster *Cluster
	Hosts   *host.Pool
	Skip    map[string]bool // hosts that cannot be reached in this run

	// Bundle gives what the bundle of another version of Kubernetes holds: that of the version which a
	// cluster comes from. Needed where the spec says upgradePolicy.emulate.
	Bundle func(kubernetes string) (map[string]components.Binary, error)
	// EtcdAPI is etcd's member list; nil: the one behind the hosts.
	EtcdAPI apply.EtcdAPI

	api *kube.Client

	mu   sync.Mutex
	left map[string]error // hosts that this run went on without, and why
}

// NewEnv makes the hands for one run.
func NewEnv(c *Cluster, hosts *host.Pool, skip map[string]bool) (*Env, error) {
	e := &Env{Cluster: c, Hosts: hosts, Skip: skip}
	var err error
	e.api, err = e.client(e.dialAPI)
	return e, err
}

// client is a client of the API servers that dial reaches, with the tool's own certificate.
func (e *Env) client(dial kube.Dial) (*kube.Client, error) {
	leaf, ok := e.Cluster.Secrets.Leaf("", pki.SuperAdmin)
	if !ok {
		return nil, errors.New("the tool's own client certificate was not issued")
	}
	return kube.New(dial, kube.Credentials{CA: e.Cluster.Secrets.CA(pki.ClusterCA).CertPEM, Cert: leaf.CertPEM, Key: leaf.KeyPEM.Reveal()})
}

// apiOn is a client of the API server on one control plane.
func (e *Env) apiOn(name string) (*kube.Client, error) {
	return e.client(func(ctx context.Context, _, _ string) (net.Conn, error) {
		return e.dial(ctx, name, components.APIServerPort)
	})
}

// API is the cluster's API. Its connections go to the first control plane that answers.
func (e *Env) API(context.Context) (*kube.Client, error) { return e.api, nil }

// dialAPI is DialAPI for a client that names an address of its own.
func (e *Env) dialAPI(ctx context.Context, _, _ string) (net.Conn, error) { return e.DialAPI(ctx) }

// patience is how long a control plane may take to answer before the next is tried beside it.
const patience = 300 * time.Millisecond

// DialAPI connects to the API server of the first control plane that answers, in order; one that
// is slow or gone does not keep the others from being tried.
func (e *Env) DialAPI(ctx context.Context) (net.Conn, error) {
	type answer struct {
		conn net.Conn
		err  error
	}
	var planes []string
	for _, h := range e.Cluster.planes(e.Skip) {
		planes = append(planes, h.Name)
	}
	if len(planes) == 0 {
		return nil, errors.New("no control plane can be reached")
	}
	ctx, cancel := context.WithCancel(ctx)
	answers := make(chan answer, len(planes))
	next := time.NewTimer(0)
	defer next.Stop()
	var errs []error
	for begun := 0; len(errs) < len(planes); {
		select {
		case <-next.C:
			if begun < len(planes) {
				name := planes[begun]
				go func() {
					conn, err := e.dial(ctx, name, components.APIServerPort)
					answers <- answer{conn, at(name, err)}
				}()
				begun++
				next.Reset(patience)
			}
		case a := <-answers:
			if a.err == nil {
				go func(others int) { // late answers are closed
					defer cancel()
					for range others {
						if late := <-answers; late.conn != nil {
							_ = late.conn.Close()
						}
					}
				}(begun - len(errs) - 1)
				return a.conn, nil
			}
			errs = append(errs, a.err)
			next.Reset(0)
		}
	}
	cancel()
	return nil, fmt.Errorf("no API server answers: %w", errors.Join(errs...))
}

func at(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}

func (e *Env) dial(ctx context.Context, name string, port int) (net.Conn, error) {
	h, err := e.Hosts.Get(name)
	if err != nil {
		return nil, err
	}
	return h.Dial(ctx, "tcp", components.HostPort("127.0.0.1", port))
}

// etcdPatience is how long a member may take to answer before it is taken for dead.
const etcdPatience = 10 * time.Second

// Etcd is etcd's member list, through whichever member can be reached.
func (e *Env) Etcd() apply.EtcdAPI {
	if e.EtcdAPI == nil {
		e.EtcdAPI = etcdapi.NewCluster(e.etcdEnds())
	}
	return e.EtcdAPI
}

// etcdEnds are the hosts where members run, and a certificate that all of them accept.
func (e *Env) etcdEnds() ([]etcdapi.Endpoint, etcdapi.Credentials) {
	cred := etcdapi.Credentials{CA: e.Cluster.Secrets.CA(pki.EtcdCA).CertPEM}
	var ends []etcdapi.Endpoint
	for _, h := range e.Cluster.Known().ControlPlanes() {
		if leaf, ok := e.Cluster.Secrets.Leaf(h.Name, pki.APIServerEtcdClient); ok {
			cred.Cert, cred.Key = leaf.CertPEM, leaf.KeyPEM.Reveal()
		}
		if handle, err := e.Hosts.Get(h.Name); err == nil && !e.Skip[h.Name] && h.SSH.Address != "" {
			ends = append(ends, etcdapi.Endpoint{Name: h.Name, Dial: handle.Dial})
		}
	}
	return ends, cred
}

// memberTimeout is how long a member may take to say how it is. The client waits for a connection
// as long as it may: one that does not run never refuses.
const memberTimeout = 10 * time.Second

// EtcdMember asks the member on a control plane how it is.
func (e *Env) EtcdMember(ctx context.Context, name string) (etcdapi.Status, error) {
	h, err := e.Hosts.Get(name)
	if err != nil {
		return etcdapi.Status{}, err
	}
	cred, err := e.etcdCredentials(name)
	if err != nil {
		return etcdapi.Status{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	return etcdapi.Member(ctx, name, h.Dial, cred)
}

// etcdCredentials are those of the API server on a control plane.
func (e *Env) etcdCredentials(name string) (etcdapi.Credentials, error) {
	leaf, ok := e.Cluster.Secrets.Leaf(name, pki.APIServerEtcdClient)
	if !ok {
		return etcdapi.Credentials{}, fmt.Errorf("no etcd client certificate for %s", name)
	}
	return etcdapi.Credentials{CA: e.Cluster.Secrets.CA(pki.EtcdCA).CertPEM, Cert: leaf.CertPEM, Key: leaf.KeyPEM.Reveal()}, nil
}
