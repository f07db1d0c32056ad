package view

import "testing"

func TestFindings(t *testing.T) {
	swap := Finding{Check: "swap", Severity: "error", Message: "swap is on: /swapfile", Remedy: "set host.swap to allow, or let the os phase turn it off"}
	on := func(host string, f Finding) Finding { f.Host = host; return f }
	findings := []Finding{
		on("cp-1", swap),
		{Host: "cp-1", Check: "clock", Severity: "warning", Message: "the clock is 2.3 s away from this machine's, and nothing on the host keeps it in step: certificates and etcd leases depend on it"},
		on("cp-2", swap),
		{Check: "addresses", Severity: "error", Message: "podCIDR 10.244.0.0/16 overlaps the hosts' network 10.244.3.0/24", Remedy: "choose another podCIDR"},
	}
	goldens(t, "findings", func(o Output) error { return o.Findings(findings) }, "txt", "80.txt", "120.txt", "color.txt", "json")
}

func TestNoFindings(t *testing.T) {
	goldens(t, "findings-none", func(o Output) error { return o.Findings(nil) }, "txt", "json")
}
