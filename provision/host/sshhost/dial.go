package sshhost

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"golang.org/x/crypto/ssh"
)

// Dial opens a connection from the host; see host.Host. The network is tcp or unix; a unix
// socket is opened as the login user. The connection supports deadlines.
func (h *Host) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := h.dialRaw(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return withDeadlines(conn), nil
}

// dialRaw is Dial without deadlines and their copying.
func (h *Host) dialRaw(ctx context.Context, network, addr string) (net.Conn, error) {
	for deaths := 0; ; {
		l, err := h.connected(ctx)
		if err != nil {
			return nil, err
		}
		conn, err := l.client.DialContext(ctx, network, addr)
		var refused *ssh.OpenChannelError
		switch {
		case err == nil:
			return conn, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.As(err, &refused) && refused.Reason == ssh.Prohibited:
			return nil, fmt.Errorf("dial %s from %s: %w; set AllowTcpForwarding yes in the host's sshd_config", addr, h.name, err)
		case errors.As(err, &refused), !l.isGone():
			return nil, fmt.Errorf("dial %s from %s: %w", addr, h.name, err)
		}
		if deaths++; deaths == 2 {
			return nil, h.lost(l, err)
		}
	}
}

// withDeadlines gives an SSH channel, which has none, the deadlines of a net.Pipe. Users of
// a net.Conn such as gRPC and TLS need them.
func withDeadlines(ch net.Conn) net.Conn {
	near, far := net.Pipe()
	go func() {
		_, _ = io.Copy(ch, far) // the end of either side ends both
		_ = ch.Close()
		_ = far.Close()
	}()
	go func() {
		_, _ = io.Copy(far, ch)
		_ = far.Close()
		_ = ch.Close()
	}()
	return &dialed{Conn: near, local: ch.LocalAddr(), remote: ch.RemoteAddr()}
}

// dialed has the addresses of the connection that it stands for.
type dialed struct {
	net.Conn
	local, remote net.Addr
}

func (d *dialed) LocalAddr() net.Addr  { return d.local }
func (d *dialed) RemoteAddr() net.Addr { return d.remote }
