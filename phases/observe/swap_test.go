package observe

import (
	"slices"
	"strings"
	"testing"

	"clusterctl/components/resource"
)

func TestSwapNowAndAtBoot(t *testing.T) {
	r := parse(strings.Join([]string{
		"@\tfile", "/proc/swaps:Filename\tType\tSize\tUsed\tPriority", "/proc/swaps:/dev/zram0   partition\t4\t0\t100",
		"/etc/fstab:#clusterctl# /dev/sda2 none swap sw 0 0", "/etc/fstab:/swapfile none swap sw 0 0", "/etc/fstab:/dev/sda1 /swap ext4 rw 0 0",
		"@\tbootswap", "dev-zram0.swap", "dev-zram0.swap", ""}, "\n"))
	want := []string{"active /dev/zram0 partition 4 0 100", "fstab /swapfile none swap sw 0 0", "unit dev-zram0.swap"}
	if !slices.Equal(r.swap, want) {
		t.Errorf("swap = %q, want %q", r.swap, want)
	}
	key := resource.Swap{Host: "h"}.Key()
	facts, _ := r.facts([]resource.Resource{resource.Swap{Host: "h"}})
	if facts[key].Digest != "on" {
		t.Errorf("fact = %+v, want on", facts[key])
	}
	facts, _ = parse("@\tfile\n/proc/swaps:Filename\n").facts([]resource.Resource{resource.Swap{Host: "h"}})
	if facts[key].Digest != "off" {
		t.Errorf("fact without swap = %+v, want off", facts[key])
	}
}
