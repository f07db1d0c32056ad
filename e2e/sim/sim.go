// Package sim plays a cluster that is as it should be: an SSH server for each host, which answers the
// probe as a host where everything is in place does, and behind them one API server and etcd's status.
// It is for measuring how the program does with many hosts. Nothing on the way is left out: logins,
// sessions, the probe's answer, forwarded connections, TLS.
package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"

	"clusterctl/components"
	"clusterctl/phases"
	"clusterctl/phases/observe"
	"clusterctl/provision/host"
	"clusterctl/provision/host/hosttest"
	"clusterctl/provision/inventory"

	"golang.org/x/crypto/ssh"
)

// Cluster is the servers of one cluster.
type Cluster struct {
	servers []*hosttest.Server
	back    *backend

	mu      sync.Mutex
	answers []string // by host; empty before Settle
}

// Listen starts a server for each of n hosts, which let everybody in. They have one key, made once:
// keys are not what is measured.
func Listen(ctx context.Context, n int) (*Cluster, error) {
	key, err := hosttest.NewKey()
	if err != nil {
		return nil, err
	}
	c := &Cluster{answers: make([]string, n)}
	for i := range n {
		s, err := hosttest.Serve(ctx, hosttest.ServerOptions{
			HostKeys: []ssh.Signer{key},
			Exec:     func(s hosttest.Session) int { return c.exec(i, s) },
			Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
				return c.dial(ctx, i, network, addr)
			},
		})
		if err != nil {
			c.Close()
			return nil, err
		}
		c.servers = append(c.servers, s)
	}
	return c, nil
}

// Port is where the server of host i listens, on 127.0.0.1.
func (c *Cluster) Port(i int) int { return c.servers[i].Addr().Port }

// MostSessions is how many sessions were open at the same moment on the host that had most.
func (c *Cluster) MostSessions() int {
	most := 0
	for _, s := range c.servers {
		most = max(most, s.MostSessions())
	}
	return most
}

// Logins is how many connections were made in all.
func (c *Cluster) Logins() int {
	n := 0
	for _, s := range c.servers {
		n += s.Logins()
	}
	return n
}

// Close ends all servers.
func (c *Cluster) Close() {
	if c.back != nil {
		c.back.close()
	}
	var all sync.WaitGroup
	for _, s := range c.servers {
		all.Go(s.Close)
	}
	all.Wait()
}

// Settle makes the hosts what the cluster value wants of them; machine is the answer to the probe of a
// machine that has nothing of ours yet. The order of the inventory is that of Listen.
func (c *Cluster) Settle(ctx context.Context, cluster *phases.Cluster, machine string) error {
	// What components want follows from what hosts report: all report the same.
	bare := plainAnswer(machine, cluster.Inventory.Hosts[0])
	report, err := readReport(ctx, cluster.Inventory.Hosts[0], bare)
	if err != nil {
		return err
	}
	cluster.Facts = map[string]components.HostFacts{}
	for _, h := range cluster.Inventory.Hosts {
		cluster.Facts[h.Name] = report.Facts()
	}
	wants, err := phases.Wants(cluster, phases.Up(), nil)
	if err != nil {
		return err
	}
	byHost, objects := split(wants)
	c.mu.Lock()
	for i, h := range cluster.Inventory.Hosts {
		c.answers[i] = answer(machine, h, byHost[h.Name])
	}
	c.mu.Unlock()
	c.back, err = newBackend(cluster, objects)
	return err
}

// readReport has the program's own code read an answer.
func readReport(ctx context.Context, h inventory.Host, text string) (observe.Report, error) {
	f := hosttest.NewFake(h.Name)
	f.Handle(func(_ context.Context, c host.Cmd) (host.Result, error) {
		return host.Result{Stdout: []byte(now(text))}, nil
	}, "sh")
	_, report, err := observe.Host(ctx, f, nil, true)
	return report, err
}

// exec answers the probe; other commands are not expected of a cluster that is as it should be.
func (c *Cluster) exec(i int, s hosttest.Session) int {
	s.Begin()
	if _, err := io.Copy(io.Discard, s.Stdin); err != nil {
		return 1
	}
	c.mu.Lock()
	text := c.answers[i]
	c.mu.Unlock()
	if _, err := io.WriteString(s.Stdout, now(text)); err != nil {
		return 1
	}
	return 0
}

var errNobody = errors.New("nobody listens")

func (c *Cluster) dial(ctx context.Context, i int, network, addr string) (net.Conn, error) {
	_, port, err := net.SplitHostPort(addr)
	if err != nil || c.back == nil {
		return nil, errNobody
	}
	target, ok := c.back.ports[port]
	if i < len(c.back.members) && port == strconv.Itoa(components.EtcdClientPort) {
		target, ok = c.back.members[i], true
	}
	if !ok {
		return nil, fmt.Errorf("%s on host %d: %w", addr, i+1, errNobody)
	}
	return (&net.Dialer{}).DialContext(ctx, network, target)
}
