package sshhost_test

import (
	"context"
	"fmt"
	"testing"

	"clusterctl/provision/host"
	"clusterctl/provision/host/hosttest"
	"clusterctl/provision/host/sshhost"
	"clusterctl/provision/inventory"
)

// BenchmarkThousandHosts connects to 1,000 servers of this process and runs one command on
// each, 32 at a time. It has both sides' cryptography in it.
func BenchmarkThousandHosts(b *testing.B) {
	key := keyFile(b, "")
	var inv inventory.Inventory
	for i := range 1000 {
		s := hosttest.NewServer(b, hosttest.ServerOptions{Exec: func(s hosttest.Session) int {
			s.Begin()
			return 0
		}})
		h := s.Inventory(fmt.Sprintf("host-%d", i))
		h.SSH.KeyPath = key
		inv.Hosts = append(inv.Hosts, h)
	}
	for b.Loop() {
		fleet := sshhost.NewFleet(sshhost.Options{})
		pool := host.NewPool(inv, fleet.Open)
		err := host.ForEach(b.Context(), 32, inv.Names(), func(ctx context.Context, name string) error {
			h, err := pool.Get(name)
			if err != nil {
				return err
			}
			_, err = h.Run(ctx, host.Cmd{Args: []string{"true"}})
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
		_ = pool.Close()
		_ = fleet.Close()
	}
}
