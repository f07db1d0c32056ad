//go:build e2e

package e2e

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"clusterctl/components"
)

// balancerAddress is where the stand-in for a cloud has its load balancer: an address of this
// machine that nobody else uses.
const balancerAddress = "127.90.0.1"

// balance carries connections from the load balancer's address to the targets that the world has.
func (d *datacenter) balance(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(d.world.Dir, "balancer"), []byte(balancerAddress), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", components.HostPort(balancerAddress, components.APIServerPort))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return // closed at the end of the test
			}
			go d.carry(near)
		}
	}()
}

// carry copies both ways until one side ends. Without a target the connection is closed.
func (d *datacenter) carry(near net.Conn) {
	defer near.Close()
	far, err := d.target()
	if err != nil {
		return
	}
	defer far.Close()
	done := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
		go func() {
			_, _ = io.Copy(way[0], way[1]) // the other end sees it too
			done <- struct{}{}
		}()
	}
	<-done
}

// target is a connection to the first target that takes one.
func (d *datacenter) target() (net.Conn, error) {
	things, err := d.world.Things()
	if err != nil {
		return nil, err
	}
	for _, th := range things {
		for _, id := range d.cloud.targets(th) {
			instance, err := d.world.Get(id)
			if err != nil {
				continue // one that is gone
			}
			conn, err := net.DialTimeout("tcp", components.HostPort(d.address(instance), components.APIServerPort), time.Second)
			if err == nil {
				return conn, nil
			}
		}
	}
	return nil, fmt.Errorf("no target takes a connection")
}
