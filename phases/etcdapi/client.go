// Package etcdapi asks etcd members through their hosts.
package etcdapi

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
)

// Credentials are what a client shows and trusts, as PEM.
type Credentials struct{ CA, Cert, Key []byte }

// Status is one member as it sees itself.
type Status struct {
	Member    string // name
	MemberID  uint64
	ClusterID uint64
	Leader    bool
	Version   string
	RaftIndex uint64
	DBSize    int64
	Errors    []string
}

// endpoint is a member as its own host reaches it.
const endpoint = "https://127.0.0.1:2379"

// connect gives a client of the member that listens behind dial. It must be closed.
func connect(ctx context.Context, dial func(ctx context.Context, network, addr string) (net.Conn, error), cred Credentials) (*clientv3.Client, error) {
	pair, err := tls.X509KeyPair(cred.Cert, cred.Key)
	if err != nil {
		return nil, fmt.Errorf("etcd client certificate: %w", err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(cred.CA)
	c, err := clientv3.New(clientv3.Config{
		Context: ctx, Endpoints: []string{endpoint}, DialTimeout: 5 * time.Second, Logger: zap.NewNop(),
		TLS: &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: pool, MinVersion: tls.VersionTLS12},
		DialOptions: []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return dial(ctx, "tcp", "127.0.0.1:2379")
		})},
	})
	if err != nil {
		return nil, fmt.Errorf("etcd client: %w", err)
	}
	return c, nil
}

// Member asks the member that listens behind dial.
func Member(ctx context.Context, name string, dial func(ctx context.Context, network, addr string) (net.Conn, error), cred Credentials) (Status, error) {
	c, err := connect(ctx, dial, cred)
	if err != nil {
		return Status{}, err
	}
	defer c.Close()
	st, err := c.Status(ctx, endpoint)
	if err != nil {
		return Status{}, err
	}
	out := Status{
		Member: name, MemberID: st.Header.MemberId, ClusterID: st.Header.ClusterId, Leader: st.Leader == st.Header.MemberId, Version: st.Version,
		RaftIndex: st.RaftIndex, DBSize: st.DbSize, Errors: st.Errors,
	}
	if st.Leader == 0 {
		return out, fmt.Errorf("member has no leader: no quorum")
	}
	return out, nil
}
