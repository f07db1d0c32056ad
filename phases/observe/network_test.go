package observe

import (
	"net/netip"
	"testing"
)

func TestAddressLines(t *testing.T) {
	for line, want := range map[string]Net{
		`2: eth0    inet 192.0.2.2/24 brd 192.0.2.255 scope global dynamic eth0\       valid_lft 3500sec preferred_lft 3500sec`: {"eth0", netip.MustParsePrefix("192.0.2.2/24"), true},
		`2: eth0    inet6 2001:db8::2/64 scope global \       valid_lft forever preferred_lft forever`:                          {"eth0", netip.MustParsePrefix("2001:db8::2/64"), false},
		`5: tun0    inet 10.8.0.2 peer 10.8.0.1/32 scope global dynamo\       valid_lft forever`:                                {"tun0", netip.MustParsePrefix("10.8.0.2/32"), false},
	} {
		if got, ok := address(line); !ok || got != want {
			t.Errorf("address(%q) = %v, %v; want %v", line, got, ok, want)
		}
	}
	for _, line := range []string{"", "2: eth0    link/ether 02:fc:00:00:00:01", "2: eth0    inet nonsense/99 scope global"} {
		if got, ok := address(line); ok {
			t.Errorf("address(%q) = %v, want none", line, got)
		}
	}
}

func TestOnlyListeningPortsAreReported(t *testing.T) {
	for line, want := range map[string]int{
		"   0: 00000000:07E8 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 588 1":                                2024,
		"   1: 00000000000000000000000000000000:192B 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 0": 6443,
	} {
		if got, ok := listening(line); !ok || got != want {
			t.Errorf("listening(%q) = %d, %v; want %d", line, got, ok, want)
		}
	}
	for _, line := range []string{"", "  1: 0100007F:192B 0100007F:C350 01 00000000:00000000", "sl local_address rem_address st"} {
		if got, ok := listening(line); ok {
			t.Errorf("listening(%q) = %d, want none", line, got)
		}
	}
}

func TestProgramsOfListeners(t *testing.T) {
	got := listeners([]string{
		`LISTEN 0      128    0.0.0.0:22      0.0.0.0:*    users:(("sshd",pid=1,fd=3))`,
		`LISTEN 0      4096   [::1]:6443      [::]:*       users:(("kube-apiserver",pid=9,fd=3),("x",pid=2,fd=1))`,
		`LISTEN 0      128    0.0.0.0:2024    0.0.0.0:*`, `LISTEN 0 1 *:99999 *:* users:(("big",pid=1,fd=1))`,
	})
	if len(got) != 2 || got[22] != "sshd" || got[6443] != "kube-apiserver" {
		t.Errorf("listeners = %v", got)
	}
}
