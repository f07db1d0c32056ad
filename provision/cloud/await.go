package cloud

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"clusterctl/provision/cloud/layout"
	"clusterctl/provision/event"
	"clusterctl/provision/host"
	"clusterctl/provision/host/sshhost"
	"clusterctl/provision/inventory"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

const (
	// bootTime is how long a new machine may take until it can be worked on.
	bootTime = 10 * time.Minute
	// pause is between two questions to a machine that is booting.
	pause = 2 * time.Second
	// parallel is how many machines are asked at the same moment.
	parallel = 16
)

// await returns when every host lets us in and has its disks. The key that a machine shows first
// after it was made is remembered with the machine's id, and from then on no other is taken.
func (p *Provider) await(ctx context.Context, k known, inv inventory.Inventory, to event.Sink) error {
	keys, err := p.readHostKeys()
	if err != nil {
		return err
	}
	keys.forgetOthers(k)
	fleet := sshhost.NewFleet(p.opts.SSH)
	defer fleet.Close()
	if len(inv.Hosts) > 0 && inv.Hosts[0].SSH.Bastion != nil {
		b := inventory.Host{Name: k.cluster.Spec.Metadata.Name + "-bastion", SSH: *inv.Hosts[0].SSH.Bastion}
		if err := p.learn(ctx, k, keys, b, nil, to); err != nil {
			return err
		}
	}
	return host.ForEach(ctx, parallel, inv.Hosts, func(ctx context.Context, h inventory.Host) error {
		var through host.Host
		if h.SSH.Bastion != nil {
			through = fleet.Open(inventory.Host{Name: k.cluster.Spec.Metadata.Name + "-bastion", SSH: *h.SSH.Bastion})
			defer through.Close()
		}
		if err := p.learn(ctx, k, keys, h, through, to); err != nil {
			return err
		}
		handle := fleet.Open(h)
		defer handle.Close()
		return until(ctx, h.Name, "can be worked on", to, func(ctx context.Context) error { return works(ctx, handle, h.Role) })
	})
}

// works says why a host cannot be worked on yet.
func works(ctx context.Context, h host.Host, role inventory.Role) error {
	cmd := host.Cmd{Args: []string{"true"}, Root: true}
	if role == inventory.ControlPlane {
		cmd.Args = []string{"mountpoint", "-q", layout.EtcdMount}
	}
	_, err := h.Run(ctx, cmd)
	if _, ok := errors.AsType[*host.ExitError](err); ok && role == inventory.ControlPlane {
		return fmt.Errorf("%s is not mounted: %w", layout.EtcdMount, err)
	}
	return err
}

// until asks a condition again until it holds. The last reason why not is the error.
func until(ctx context.Context, name, what string, to event.Sink, holds func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, bootTime, fmt.Errorf("not within %s", bootTime))
	defer cancel()
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		err := holds(ctx)
		if err == nil {
			return nil
		}
		to.Emit(event.Event{Time: time.Now(), Kind: event.Wait, Phase: "hosts", Host: name, Text: what, Err: err})
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("wait until %s %s: %w: %w", name, what, context.Cause(ctx), err)
		}
	}
}

// hostKeys are the lines of known_hosts; each ends with the id of the machine that it is of.
type hostKeys struct {
	mu    sync.Mutex
	lines []string
}

// readHostKeys gives the keys that are known. A file that is there and cannot be read is an error: to
// take it for none would be to trust whoever answers now.
func (p *Provider) readHostKeys() (*hostKeys, error) {
	data, err := os.ReadFile(p.knownHostsPath())
	if errors.Is(err, fs.ErrNotExist) {
		return &hostKeys{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the hosts' keys: %w", err)
	}
	return &hostKeys{lines: strings.Split(strings.TrimSpace(string(data)), "\n")}, nil
}

// idOf is the last word of a line.
func idOf(line string) string { return line[strings.LastIndexByte(line, ' ')+1:] }

// forgetOthers drops the keys of machines that are no more, whose addresses others may have now.
func (k *hostKeys) forgetOthers(c known) {
	there := map[string]bool{}
	for _, id := range c.cluster.Seen.Machines {
		there[id] = true
	}
	var keep []string
	for _, line := range k.lines {
		if there[idOf(line)] {
			keep = append(keep, line)
		}
	}
	k.lines = keep
}

func (k *hostKeys) has(id string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, line := range k.lines {
		if idOf(line) == id {
			return true
		}
	}
	return false
}

// add stores the lines with one more. They are stored one after the other: an older list that came
// later would lose a key.
func (k *hostKeys) add(address string, key ssh.PublicKey, id string, store func(lines []string) error) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.lines = append(k.lines, knownhosts.Line([]string{address}, key)+" "+id)
	return store(k.lines)
}

// learn remembers the key of a machine that has none in known_hosts.
func (p *Provider) learn(ctx context.Context, k known, keys *hostKeys, h inventory.Host, through host.Host, to event.Sink) error {
	id := k.cluster.Seen.Machines[h.Name]
	if keys.has(id) {
		return nil
	}
	address := net.JoinHostPort(h.SSH.Address, strconv.Itoa(h.SSH.Port))
	var key ssh.PublicKey
	err := until(ctx, h.Name, "answers over SSH", to, func(ctx context.Context) (err error) {
		key, err = p.show(ctx, address, through)
		return err
	})
	if err != nil {
		return err
	}
	p.opts.Log.Debug("host key learned", "host", h.Name, "key", ssh.FingerprintSHA256(key))
	return keys.add(knownhosts.Normalize(address), key, id, p.writeKnownHosts)
}

// show asks a server for its key and goes away before logging in.
func (p *Provider) show(ctx context.Context, address string, through host.Host) (ssh.PublicKey, error) {
	dial := p.opts.SSH.Dial
	switch {
	case through != nil:
		dial = through.Dial
	case dial == nil:
		dial = (&net.Dialer{Timeout: 10 * time.Second}).DialContext
	}
	conn, err := dial(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return nil, err
	}
	var key ssh.PublicKey
	errSeen := errors.New("seen")
	_, _, _, err = ssh.NewClientConn(conn, address, &ssh.ClientConfig{
		HostKeyAlgorithms: []string{ssh.KeyAlgoED25519, ssh.KeyAlgoECDSA256, ssh.KeyAlgoRSASHA512},
		HostKeyCallback:   func(_ string, _ net.Addr, k ssh.PublicKey) error { key = k; return errSeen },
	})
	if key == nil {
		return nil, fmt.Errorf("SSH handshake with %s: %w", address, err)
	}
	return key, nil
}
