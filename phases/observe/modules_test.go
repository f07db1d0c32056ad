package observe

import (
	"maps"
	"strings"
	"testing"
)

func TestModuleStatesFromAllSources(t *testing.T) {
	r := parse(strings.Join([]string{
		"@\tmodule", "overlay absent", "br_netfilter absent", "vxlan absent", "nf_conntrack loaded", "ip_vs absent", "ip_vs_rr absent", "nf_tables absent", "x absent",
		"@\tmodprobe", "builtin nf_tables", "insmod /lib/modules/6.1.0/kernel/net/ipv4/udp_tunnel.ko", "insmod /lib/modules/6.1.0/kernel/drivers/net/vxlan/vxlan.ko.xz",
		"install /bin/false", "insmod /lib/modules/6.1.0/kernel/net/netfilter/ipvs/ip-vs-rr.ko.zst",
		"@\tkconfig", "CONFIG_BRIDGE_NETFILTER=y",
		"@\tfile", "/proc/filesystems:nodev\toverlay", ""}, "\n"))
	want := map[string]string{"overlay": "loaded", "br_netfilter": "loaded", "vxlan": "loadable", "nf_conntrack": "loaded", "ip_vs": "absent",
		"ip_vs_rr": "loadable", "nf_tables": "loaded", "x": "absent"}
	if !maps.Equal(r.modules, want) {
		t.Errorf("modules = %v, want %v", r.modules, want)
	}
}
