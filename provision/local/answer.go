package local

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"clusterctl/provision/inventory"
)

const (
	bootDeadline = 90 * time.Second // from the start of init to sshd's first word, on a loaded machine
	dialTimeout  = time.Second      // one attempt
	lookInterval = time.Second      // between two looks at a host that does not answer
)

// errEnded says that a host's init ended while its sshd was waited for.
var errEnded = errors.New("the host's init ended")

// waitForSSH returns when a host's sshd says its version (RFC 4253, section 4.2), or with
// errEnded when the host does not run any more.
func (p *Provider) waitForSSH(ctx context.Context, l layout, h inventory.Host) error {
	ctx, cancel := context.WithTimeout(ctx, bootDeadline)
	defer cancel()
	var last error
	looked := time.Now()
	err := poll(ctx, func() (bool, error) {
		last = greet(ctx, net.JoinHostPort(h.SSH.Address, strconv.Itoa(h.SSH.Port)))
		if last == nil || time.Since(looked) < lookInterval {
			return last == nil, nil
		}
		runs, err := p.running(ctx, l, h.Name)
		if err == nil && !runs {
			err = errEnded
		}
		looked = time.Now()
		return false, err
	})
	if err != nil {
		return fmt.Errorf("wait for sshd on host %s (its console: %s): %w", h.Name, p.disk(l, h.Name).path("console.log"), errors.Join(err, last))
	}
	return nil
}

func greet(ctx context.Context, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return err
		}
	}
	buf := make([]byte, len("SSH-2.0-"))
	n, err := conn.Read(buf)
	if strings.HasPrefix(string(buf[:n]), "SSH-2.0") {
		return nil
	}
	return errors.Join(fmt.Errorf("%s does not speak SSH", addr), err)
}
