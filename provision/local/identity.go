package local

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"strings"

	"clusterctl/provision/inventory"

	"golang.org/x/crypto/ssh"
)

// writeIdentity puts into a host's root file system what makes it this host: names, keys and
// neighbours. It goes through the mounted overlay, so it may be done while the host runs, and
// writes only what differs. What the cluster may change later (machine id, resolver, lines of
// others) is left alone.
func writeIdentity(rootfs string, l layout, h inventory.Host, k keys) error {
	root, err := os.OpenRoot(rootfs)
	if err != nil {
		return fmt.Errorf("write the identity of host %s: %w", h.Name, err)
	}
	defer root.Close()
	pair := k.hosts[h.Name]
	err = errors.Join(
		putOnce(root, "/etc/hostname", []byte(h.Name+"\n"), 0o644),
		putOnce(root, "/etc/machine-id", machineID(pair.public), 0o444),
		putOnce(root, "/etc/resolv.conf", resolvConf(machineNameservers(), l.gateway), 0o644),
		putLines(root, "/etc/hosts", hostsLines(l.hosts), 0o644),
		putFile(root, "/etc/ssh/ssh_host_ed25519_key", pair.private, 0o600),
		putFile(root, "/etc/ssh/ssh_host_ed25519_key.pub", ssh.MarshalAuthorizedKey(pair.public), 0o644),
		root.MkdirAll("root/.ssh", 0o700),
		putLines(root, "/root/.ssh/authorized_keys", []string{strings.TrimSpace(string(ssh.MarshalAuthorizedKey(k.login)))}, 0o600),
	)
	if err != nil {
		return fmt.Errorf("write the identity of host %s: %w", h.Name, err)
	}
	return nil
}

// machineID derives the id (machine-id(5): 32 hex digits) from the host's key: the same for the
// life of the host, another for every other one.
func machineID(key ssh.PublicKey) []byte {
	sum := sha256.Sum256(append([]byte("machine-id "), key.Marshal()...))
	return []byte(hex.EncodeToString(sum[:16]) + "\n")
}

func hostsLines(inv inventory.Inventory) []string {
	lines := []string{"127.0.0.1 localhost", "::1 localhost ip6-localhost ip6-loopback"}
	for _, h := range inv.Hosts {
		lines = append(lines, h.Address.String()+" "+h.Name)
	}
	return lines
}

// machineNameservers gives the servers that this machine asks, without those that only it can
// reach (systemd-resolved's stub, whose upstream is in a second file).
func machineNameservers() []netip.Addr {
	for _, path := range []string{"/etc/resolv.conf", "/run/systemd/resolve/resolv.conf"} {
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if servers := nameservers(data); len(servers) > 0 {
			return servers
		}
	}
	return nil
}

// nameservers reads resolv.conf(5) and leaves out loopback addresses.
func nameservers(resolv []byte) []netip.Addr {
	var out []netip.Addr
	for s := bufio.NewScanner(bytes.NewReader(resolv)); s.Scan(); {
		f := strings.Fields(s.Text())
		if len(f) < 2 || f[0] != "nameserver" {
			continue
		}
		if a, err := netip.ParseAddr(f[1]); err == nil && !a.IsLoopback() {
			out = append(out, a)
		}
	}
	return out
}

// resolvConf names the servers, or the gateway when there are none.
func resolvConf(servers []netip.Addr, gateway netip.Addr) []byte {
	if len(servers) == 0 {
		servers = []netip.Addr{gateway}
	}
	var b bytes.Buffer
	for _, a := range servers {
		fmt.Fprintf(&b, "nameserver %s\n", a)
	}
	return b.Bytes()
}
