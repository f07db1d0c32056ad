package spec

import (
	"fmt"
	"regexp"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// Bounds of the time that a drain may take: below, no pod ends in an orderly way; above, a stuck
// run looks like a hanging one.
const (
	minDrain = time.Second
	maxDrain = 24 * time.Hour
)

func (v *validator) checkUpgradePolicy() {
	p := v.c.Spec.UpgradePolicy
	if !regexp.MustCompile(`^[1-9][0-9]{0,4}%?$`).MatchString(p.MaxUnavailable) {
		v.add(at("upgradePolicy", "maxUnavailable"), fmt.Sprintf("need a number or a percentage such as 2 or 10%%, got %q", p.MaxUnavailable), "")
	}
	if d, err := time.ParseDuration(p.DrainTimeout); err != nil || d < minDrain || d > maxDrain {
		v.add(at("upgradePolicy", "drainTimeout"), fmt.Sprintf("need a time from 1s to 24h such as 5m, got %q", p.DrainTimeout), "")
	}
}

// MaxUnavailable is how many workers may be away at the same time, as a number or a percentage.
func (c *Cluster) MaxUnavailable() intstr.IntOrString {
	return intstr.Parse(c.Spec.UpgradePolicy.MaxUnavailable)
}

// DrainTimeout is how long the pods of a node may take to leave it.
func (c *Cluster) DrainTimeout() time.Duration {
	d, _ := time.ParseDuration(c.Spec.UpgradePolicy.DrainTimeout) // checked when the spec was read
	return d
}
