package sshhost_test

import (
	"fmt"
	"os"
	"os/user"
	"testing"

	"clusterctl/provision/host/hosttest"
	"clusterctl/provision/host/sshhost"
)

func TestHostKeepsTheContract(t *testing.T) {
	hosttest.Run(t, func(t *testing.T) hosttest.Subject {
		s := hosttest.NewServer(t, hosttest.ServerOptions{})
		inv := s.Inventory("host-1")
		inv.SSH.KeyPath = keyFile(t, "")
		h := sshhost.New(inv, sshhost.Options{})
		t.Cleanup(func() { _ = h.Close() })
		return hosttest.Subject{Host: h, Dir: t.TempDir(), Owner: selfOwner(t), Drop: s.Drop}
	})
}

// selfOwner is the user and group of this process: tests need not be root.
func selfOwner(t *testing.T) string {
	t.Helper()
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	g, err := user.LookupGroupId(u.Gid)
	if err != nil {
		return fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid())
	}
	return u.Username + ":" + g.Name
}
