package sim

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"clusterctl/components"
	"clusterctl/components/coredns"
	"clusterctl/components/resource"
	"clusterctl/phases"
	"clusterctl/phases/state"
	"clusterctl/pki"
)

// backend is what listens behind the hosts' ports: the same for all hosts.
type backend struct {
	ports   map[string]string // port on a host -> address here
	members []string          // addresses of the etcd members, by control plane
	closers []io.Closer
	all     sync.WaitGroup
}

func newBackend(c *phases.Cluster, objects []resource.Resource) (*backend, error) {
	b := &backend{ports: map[string]string{}}
	first := c.Inventory.ControlPlanes()[0].Name
	api := newAPI(c, objects)
	healthy := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") })
	err := errors.Join(
		b.https(c, first, pki.APIServer, components.APIServerPort, api),
		b.https(c, first, pki.APIServer, components.ControllerManagerPort, healthy),
		b.https(c, first, pki.APIServer, components.SchedulerPort, healthy),
		b.http(components.KubeletHealthPort, nil, healthy),
		b.http(components.KubeProxyHealthPort, nil, healthy),
		b.http(components.FlannelHealthPort, nil, healthy),
	)
	for _, h := range c.Inventory.ControlPlanes() {
		err = errors.Join(err, b.etcd(c, h.Name))
	}
	if err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func (b *backend) listen(port int) (net.Listener, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err == nil {
		b.ports[strconv.Itoa(port)] = l.Addr().String()
	}
	return l, err
}

func (b *backend) http(port int, config *tls.Config, h http.Handler) error {
	l, err := b.listen(port)
	if err != nil {
		return err
	}
	if config != nil {
		l = tls.NewListener(l, config)
	}
	s := &http.Server{Handler: h, ErrorLog: log.New(io.Discard, "", 0)}
	b.closers = append(b.closers, s)
	b.all.Go(func() { _ = s.Serve(l) }) // ends with close
	return nil
}

func (b *backend) https(c *phases.Cluster, host, name string, port int, h http.Handler) error {
	config, err := serving(c, host, name)
	if err != nil {
		return err
	}
	return b.http(port, config, h)
}

func serving(c *phases.Cluster, host, name string) (*tls.Config, error) {
	leaf, ok := c.Secrets.Leaf(host, name)
	if !ok {
		return nil, fmt.Errorf("no certificate %s of %s", name, host)
	}
	pair, err := tls.X509KeyPair(leaf.CertPEM, leaf.KeyPEM.Reveal())
	return &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2", "http/1.1"}}, err
}

// etcd is one member: its status and the list of all members, of which the first leads.
func (b *backend) etcd(c *phases.Cluster, host string) error {
	config, err := serving(c, host, pki.EtcdServer)
	if err != nil {
		return err
	}
	m := &member{}
	if m.header.ClusterId, err = strconv.ParseUint(c.Identity.EtcdClusterID, 16, 64); err != nil {
		return err
	}
	for _, founder := range c.Identity.EtcdMembers {
		id, err := strconv.ParseUint(state.EtcdMemberID(c.Identity.EtcdToken, founder.PeerURL), 16, 64)
		if err != nil {
			return err
		}
		if founder.Name == host {
			m.header.MemberId = id
		}
		m.list = append(m.list, &etcdserverpb.Member{ID: id, Name: founder.Name, PeerURLs: []string{founder.PeerURL}, ClientURLs: []string{founder.PeerURL}})
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	b.members = append(b.members, l.Addr().String())
	s := grpc.NewServer(grpc.Creds(credentials.NewTLS(config)))
	etcdserverpb.RegisterMaintenanceServer(s, m)
	etcdserverpb.RegisterClusterServer(s, list{member: m})
	b.closers = append(b.closers, closerFunc(s.Stop))
	b.all.Go(func() { _ = s.Serve(l) }) // ends with close
	return nil
}

type closerFunc func()

func (f closerFunc) Close() error { f(); return nil }

type member struct {
	etcdserverpb.UnimplementedMaintenanceServer
	header etcdserverpb.ResponseHeader
	list   []*etcdserverpb.Member
}

// Status is that of a healthy member.
func (m *member) Status(context.Context, *etcdserverpb.StatusRequest) (*etcdserverpb.StatusResponse, error) {
	return &etcdserverpb.StatusResponse{Header: &m.header, Leader: m.list[0].ID, Version: "3.7.3", RaftIndex: 1, DbSize: 1}, nil
}

type list struct {
	etcdserverpb.UnimplementedClusterServer
	member *member
}

// MemberList is what all members agree on.
func (l list) MemberList(context.Context, *etcdserverpb.MemberListRequest) (*etcdserverpb.MemberListResponse, error) {
	return &etcdserverpb.MemberListResponse{Header: &l.member.header, Members: l.member.list}, nil
}

func (b *backend) close() {
	for _, c := range b.closers {
		_ = c.Close() // the process ends soon after
	}
	b.all.Wait()
}

// api is the part of the Kubernetes API that a run without changes asks for.
type api struct {
	nodes   corev1.NodeList
	objects []*unstructured.Unstructured
}

func newAPI(c *phases.Cluster, wants []resource.Resource) *api {
	a := &api{nodes: corev1.NodeList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NodeList"}}}
	for _, w := range wants {
		switch r := w.(type) {
		case resource.Node:
			n := corev1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: metav1.ObjectMeta{Name: r.Host, Labels: r.Labels}}
			n.Spec.Taints, n.Spec.PodCIDR = r.Taints, "10.0.0.0/24"
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
			n.Status.NodeInfo.KubeletVersion = c.Release.Kubernetes
			a.nodes.Items = append(a.nodes.Items, n)
		case resource.Manifest:
			a.objects = append(a.objects, live(r.Object))
		}
	}
	return a
}

// live is an object as the server shows it: a deployment is rolled out.
func live(o *unstructured.Unstructured) *unstructured.Unstructured {
	o = o.DeepCopy()
	if o.GetKind() == "Deployment" && o.GetName() == coredns.Name {
		replicas, _, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
		o.Object["status"] = map[string]any{"observedGeneration": int64(1), "updatedReplicas": replicas, "availableReplicas": replicas,
			"conditions": []any{map[string]any{"type": "Available", "status": "True"}}}
	}
	return o
}

// ServeHTTP answers discovery, nodes, and reading and applying of objects.
func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case r.URL.Path == "/readyz" || r.URL.Path == "/livez" || r.URL.Path == "/healthz":
		io.WriteString(w, "ok")
	case r.URL.Path == "/api":
		reply(w, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
	case r.URL.Path == "/apis":
		reply(w, a.groups())
	case len(parts) == 2 && parts[0] == "api":
		reply(w, a.resources("v1"))
	case len(parts) == 3 && parts[0] == "apis":
		reply(w, a.resources(parts[1]+"/"+parts[2]))
	case r.URL.Path == "/api/v1/nodes":
		reply(w, a.nodes)
	case len(parts) == 4 && parts[2] == "nodes":
		i := slices.IndexFunc(a.nodes.Items, func(n corev1.Node) bool { return n.Name == parts[3] })
		if i < 0 {
			http.NotFound(w, r)
			return
		}
		reply(w, a.nodes.Items[i])
	default:
		a.object(w, r, parts)
	}
}

func (a *api) object(w http.ResponseWriter, r *http.Request, parts []string) {
	name, plural := parts[len(parts)-1], parts[max(0, len(parts)-2)]
	namespace := ""
	if i := slices.Index(parts, "namespaces"); i >= 0 && i+2 < len(parts) {
		namespace = parts[i+1]
	}
	i := slices.IndexFunc(a.objects, func(o *unstructured.Unstructured) bool {
		return o.GetName() == name && o.GetNamespace() == namespace && pluralOf(o.GetKind()) == plural
	})
	if i < 0 || r.Method != http.MethodGet && r.Method != http.MethodPatch {
		http.NotFound(w, r)
		return
	}
	reply(w, a.objects[i].Object)
}

func (a *api) groups() metav1.APIGroupList {
	out := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	seen := map[string]bool{}
	for _, o := range a.objects {
		gv := o.GroupVersionKind().GroupVersion()
		if gv.Group == "" || seen[gv.Group] {
			continue
		}
		seen[gv.Group] = true
		version := metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: gv.Version}
		out.Groups = append(out.Groups, metav1.APIGroup{Name: gv.Group, Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version})
	}
	return out
}

func (a *api) resources(groupVersion string) metav1.APIResourceList {
	out := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: groupVersion}
	seen := map[string]bool{}
	for _, o := range a.objects {
		if o.GetAPIVersion() != groupVersion || seen[o.GetKind()] {
			continue
		}
		seen[o.GetKind()] = true
		out.APIResources = append(out.APIResources, metav1.APIResource{Name: pluralOf(o.GetKind()), Kind: o.GetKind(), Namespaced: o.GetNamespace() != "", Verbs: metav1.Verbs{"get", "patch"}})
	}
	return out
}

// pluralOf holds for the kinds that there are.
func pluralOf(kind string) string {
	lower := strings.ToLower(kind)
	if stem, ok := strings.CutSuffix(lower, "y"); ok {
		return stem + "ies"
	}
	return lower + "s"
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client is gone when this fails
}
