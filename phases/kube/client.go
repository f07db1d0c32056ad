// Package kube talks to the cluster's API through a host: no address of the cluster needs to be
// reachable from where the tool runs.
package kube

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// FieldManager owns the fields that we apply.
const FieldManager = "clusterctl"

// Dial opens a connection to an API server; addr is ignored: the caller has chosen the host.
type Dial func(ctx context.Context, network, addr string) (net.Conn, error)

// Credentials are what a client shows and trusts, as PEM.
type Credentials struct {
	CA, Cert, Key []byte
}

// Client is the cluster's API.
type Client struct {
	kubernetes.Interface
	dynamic dynamic.Interface
	mapper  meta.ResettableRESTMapper
}

// New gives a client whose connections are opened by dial.
func New(dial Dial, cred Credentials) (*Client, error) {
	cfg := &rest.Config{
		Host: "https://127.0.0.1:6443", Dial: dial, QPS: 200, Burst: 400, Timeout: 30 * time.Second,
		TLSClientConfig: rest.TLSClientConfig{CAData: cred.CA, CertData: cred.Cert, KeyData: cred.Key},
		UserAgent:       FieldManager,
		WarningHandler:  rest.NoWarnings{},
	}
	set, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("kubernetes client: %w", err)
	}
	dyn, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("kubernetes client: %w", err)
	}
	return &Client{Interface: set, dynamic: dyn, mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(set.Discovery()))}, nil
}

// Mode says whether an apply is only asked about or kept.
type Mode []string

// Persist keeps what is applied; DryRun only answers what it would be.
var (
	Persist = Mode(nil)
	DryRun  = Mode{metav1.DryRunAll}
)

// Apply applies an object on the server and returns it as it then is.
func (c *Client) Apply(ctx context.Context, o *unstructured.Unstructured, mode Mode) (*unstructured.Unstructured, error) {
	r, err := c.resource(o)
	if err != nil {
		return nil, err
	}
	return r.Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: FieldManager, Force: true, DryRun: mode})
}

// Get reads the live object of the same kind and name.
func (c *Client) Get(ctx context.Context, o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	r, err := c.resource(o)
	if err != nil {
		return nil, err
	}
	return r.Get(ctx, o.GetName(), metav1.GetOptions{})
}

func (c *Client) resource(o *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	gvk := o.GroupVersionKind()
	m, err := c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", gvk, err)
	}
	if m.Scope.Name() == meta.RESTScopeNameNamespace {
		return c.dynamic.Resource(m.Resource).Namespace(o.GetNamespace()), nil
	}
	return c.dynamic.Resource(m.Resource), nil
}

// ReadyAt asks one API server for path (/readyz) through dial, without credentials.
func ReadyAt(ctx context.Context, dial Dial, ca []byte, port int, path string) error {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	tr := &http.Transport{
		DialContext: dial, DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "localhost", MinVersion: tls.VersionTLS12},
	}
	defer tr.CloseIdleConnections()
	return get(ctx, tr, fmt.Sprintf("https://127.0.0.1:%d%s", port, path))
}

// PlainAt asks a health endpoint on the host's loopback that speaks plain HTTP.
func PlainAt(ctx context.Context, dial Dial, port int, path string) error {
	tr := &http.Transport{DialContext: dial, DisableKeepAlives: true}
	defer tr.CloseIdleConnections()
	return get(ctx, tr, fmt.Sprintf("http://127.0.0.1:%d%s", port, path))
}

func get(ctx context.Context, tr *http.Transport, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	res, err := tr.RoundTrip(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 4096))
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", res.Status, lastLine(body))
	}
	return nil
}

func lastLine(b []byte) string {
	const most = 300
	if len(b) > most {
		b = b[len(b)-most:]
	}
	return string(b)
}
