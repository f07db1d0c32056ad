package static

import (
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"clusterctl/provision/event"
	"clusterctl/provision/inventory"
)

// homeWith makes a home with files below .ssh.
func homeWith(t *testing.T, files map[string]string) string {
	t.Helper()
	home := t.TempDir()
	for name, text := range files {
		path := filepath.Join(home, ".ssh", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

// literals is a resolver that knows addresses only.
type literals struct{}

func (literals) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	a, err := netip.ParseAddr(host)
	return []netip.Addr{a}, err
}

const userConfig = `
Include conf.d/* ~/.ssh/none
Host cp1
	HostName 192.0.2.1
	Port = 2201
	User ops
	IdentityFile "~/.ssh/first"
	IdentityFile %d/.ssh/second-%r
	ProxyJump jump
Host far
	HostName 192.0.2.3
	ProxyJump outer,admin@[2001:db8::1]:2222
Host jump !cp1
	HostName gate.example.com
	IdentityFile ~/.ssh/gate
Host *
	User everybody
	HostName %h
`

func TestTheUsersSSHConfigurationSaysWhatTheSpecDoesNot(t *testing.T) {
	home := homeWith(t, map[string]string{"config": userConfig, "conf.d/outer": "Host outer\n Port 2300\n User out\nHost included\n Port 2400\n"})
	s := load(t, "", `{name: a, address: cp1}, {name: b, address: cp1, privateAddress: 192.0.2.2, user: root, port: 22, keyPath: ~/own, bastion: {address: jump, port: 23}},
      {name: c, address: far}`, "  workers: [{name: default, hosts: [{name: w, address: included, privateAddress: 192.0.2.9}]}]\n")
	p := &Provider{resolver: literals{}, home: home}
	inv, err := p.Ensure(t.Context(), s, event.Discard)
	if err != nil {
		t.Fatal(err)
	}
	first := []string{"~/.ssh/first", "~/.ssh/second-ops"}
	want := []inventory.SSH{
		{Address: "192.0.2.1", Port: 2201, User: "ops", Identities: first,
			Bastion: &inventory.SSH{Address: "gate.example.com", Port: 22, User: "everybody", Identities: []string{"~/.ssh/gate"}}},
		{Address: "192.0.2.1", Port: 22, User: "root", KeyPath: "~/own",
			Bastion: &inventory.SSH{Address: "gate.example.com", Port: 23, User: "root", KeyPath: "~/own"}},
		{Address: "192.0.2.3", Port: 22, User: "everybody",
			Bastion: &inventory.SSH{Address: "2001:db8::1", Port: 2222, User: "admin",
				Bastion: &inventory.SSH{Address: "outer", Port: 2300, User: "out"}}},
		{Address: "included", Port: 2400, User: "everybody"},
	}
	for i, h := range inv.Hosts {
		if diff := cmp.Diff(want[i], h.SSH); diff != "" {
			t.Errorf("%s: %s", h.Name, diff)
		}
	}
	if got := inv.Hosts[0].Address.String(); got != "192.0.2.1" {
		t.Errorf("cluster address %s", got)
	}
}

func TestAnSSHConfigurationThatCannotBeFollowedIsRefused(t *testing.T) {
	for name, c := range map[string]struct{ config, says string }{
		"match":          {"Host x\nMatch host cp1 user ops\n Port 1\n", ":2: Match host cp1 user ops is not supported"},
		"included match": {"Include more\n", "more:1: Match exec true is not supported"},
		"proxy command":  {"Host cp1\n ProxyCommand nc %h\n", "ProxyCommand of cp1 is not supported: use ProxyJump"},
		"token":          {"Host cp1\n HostName %C.example.com\n", "HostName %C.example.com has a token that is not supported"},
		"port":           {"Host cp1\n Port 99999\n", `Port of cp1: need a port from 1 to 65535, got "99999"`},
		"jump":           {"Host cp1\n ProxyJump gate-%h\n", `need [user@]host[:port], got "gate-%h"`},
		"circle":         {"Host *\n ProxyJump gate\n", "leads in a circle"},
		"includes":       {"Include config\n", "include each other"},
	} {
		home := homeWith(t, map[string]string{"config": c.config, "more": "Match exec true\n"})
		p := &Provider{resolver: literals{}, home: home}
		_, err := p.Preview(t.Context(), load(t, "", "{name: a, address: cp1}", ""))
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error %v, want %q", name, err, c.says)
		}
	}
}

func TestMatchAllAndNoConfigurationAreFine(t *testing.T) {
	for name, files := range map[string]map[string]string{"match all": {"config": "Match all\n User ops\n"}, "none": nil} {
		p := &Provider{home: homeWith(t, files)}
		changes, err := p.Preview(t.Context(), load(t, "", "{name: a, address: 192.0.2.1}", ""))
		if want := map[string]string{"match all": "ops@192.0.2.1:22", "none": "root@192.0.2.1:22"}[name]; err != nil || changes[0].Detail != want {
			t.Errorf("%s: %v, %v", name, changes, err)
		}
	}
}
