package etcdapi

import (
	"context"
	"net"
)

// Dial opens a connection from a member's host.
type Dial = func(ctx context.Context, network, addr string) (net.Conn, error)

// MoveLead has the member behind dial hand the lead to another one. Only the leader can.
func MoveLead(ctx context.Context, dial Dial, cred Credentials, to uint64) error {
	c, err := connect(ctx, dial, cred)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.MoveLeader(ctx, to)
	return err
}
