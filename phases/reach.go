package phases

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"clusterctl/components"
	"clusterctl/phases/health"
	"clusterctl/provision/host"
	"clusterctl/provision/inventory"
)

//go:embed listen.sh
var listenScript string

// peersReach: the host that joins reaches the peer port of every member, and every member reaches
// the host. Nothing listens on its peer port yet, and what a firewall rejects looks just like that;
// so it listens for as long as the others ask.
func (e *Env) peersReach(h inventory.Host) []health.Condition {
	var members []inventory.Host
	for _, m := range e.Cluster.Inventory.ControlPlanes() {
		if m.Name != h.Name && !e.Skip[m.Name] && !e.Cluster.joins(m) {
			members = append(members, m)
		}
	}
	own := peerAddress(h)
	return []health.Condition{{Name: "etcd peers reach each other", Host: h.Name, Timeout: 20 * time.Second, Check: func(ctx context.Context) error {
		return e.listening(ctx, h.Name, own, func(ctx context.Context) error {
			return host.ForEach(ctx, len(members), members, func(ctx context.Context, m inventory.Host) error {
				return errors.Join(e.reach(ctx, h.Name, peerAddress(m)), e.reach(ctx, m.Name, own))
			})
		})
	}}}
}

func peerAddress(h inventory.Host) string {
	return components.HostPort(h.Address.String(), components.EtcdPeerPort)
}

// listening does what do does while a host accepts connections at an address. The session's input ends
// the listener, also when this process or the connection dies.
func (e *Env) listening(ctx context.Context, name, addr string, do func(context.Context) error) error {
	h, err := e.Hosts.Get(name)
	if err != nil {
		return err
	}
	in, end := io.Pipe()
	out, said := io.Pipe()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		_, err := h.Run(ctx, host.Cmd{Args: []string{"sh", "-c", listenScript, "listen", addr}, Stdin: in, Stdout: said, Root: true})
		_ = in.Close()   // the other side stops
		_ = said.Close() // the same
		return err
	})
	g.Go(func() error {
		defer end.Close()
		lines := bufio.NewReader(out)
		line, _ := lines.ReadString('\n') // an end without a word says as much
		if !strings.HasPrefix(line, "Listening on ") {
			return fmt.Errorf("listen at %s on %s with systemd-socket-activate: %s", addr, name, strings.TrimSpace(line))
		}
		g.Go(func() error {
			_, _ = io.Copy(io.Discard, lines) // who connected
			return nil
		})
		return do(ctx)
	})
	return g.Wait()
}

// reach connects from a host to an address of another.
func (e *Env) reach(ctx context.Context, from, addr string) error {
	h, err := e.Hosts.Get(from)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	conn, err := h.Dial(ctx, "tcp", addr)
	if err == nil {
		return conn.Close()
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = errors.New("no answer within 5s: a firewall drops it")
	}
	return fmt.Errorf("%s is not reached from %s: %w; open TCP port %d between control planes", addr, from, err, components.EtcdPeerPort)
}
