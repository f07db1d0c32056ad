package phases_test

import (
	"testing"

	"clusterctl/components/resource"
	"clusterctl/phases"
	"clusterctl/phases/plan"
)

// BenchmarkPlanThousandHosts is a plan of 1,000 SSH hosts from the spec's text on, with its PKI:
// all of a plan but asking the hosts. The target is 2 s.
func BenchmarkPlanThousandHosts(b *testing.B) {
	text := sshSpec("v1.37.2", 5, 995, "  network: {podCIDR: 100.64.0.0/10}\n")
	for b.Loop() {
		c := clusterOf(b, text, newSecrets(b))
		if n := len(stepsOf(planOf(b, c, phases.Up(), nil))); n < 50_000 {
			b.Fatalf("%d steps", n)
		}
	}
}

// BenchmarkPlanThousandHostsAgain is the same where everything is there already.
func BenchmarkPlanThousandHostsAgain(b *testing.B) {
	text := sshSpec("v1.37.2", 5, 995, "  network: {podCIDR: 100.64.0.0/10}\n")
	secrets := newSecrets(b)
	facts := resource.Facts{}
	for _, s := range stepsOf(planOf(b, clusterOf(b, text, secrets), phases.Up(), nil)) {
		facts[s.Key] = plan.Modelled(s)
	}
	for b.Loop() {
		if left := stepsOf(planOf(b, clusterOf(b, text, secrets), phases.Up(), facts)); len(left) != 0 {
			b.Fatalf("%d steps left", len(left))
		}
	}
}
