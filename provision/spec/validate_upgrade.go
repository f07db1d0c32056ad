package spec

import (
	"errors"
	"fmt"
	"iter"
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
	for name, message := range v.c.upgradePolicyProblems() {
		v.add(at("upgradePolicy", name), message, "")
	}
}

// CheckUpgradePolicy judges the policy of a spec that was changed after it was read.
func (c *Cluster) CheckUpgradePolicy() error {
	var errs []error
	for name, message := range c.upgradePolicyProblems() {
		errs = append(errs, fmt.Errorf("%s: %s", name, message))
	}
	return errors.Join(errs...)
}

// upgradePolicyProblems gives what is wrong, by field.
func (c *Cluster) upgradePolicyProblems() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		p := c.Spec.UpgradePolicy
		if !maxUnavailable.MatchString(p.MaxUnavailable) && !yield("maxUnavailable", fmt.Sprintf("need a number or a percentage such as 2 or 10%%, got %q", p.MaxUnavailable)) {
			return
		}
		if d, err := time.ParseDuration(p.DrainTimeout); err != nil || d < minDrain || d > maxDrain {
			yield("drainTimeout", fmt.Sprintf("need a time from 1s to 24h such as 5m, got %q", p.DrainTimeout))
		}
	}
}

var maxUnavailable = regexp.MustCompile(`^[1-9][0-9]{0,4}%?$`)

// MaxUnavailable is how many workers may be away at the same time, as a number or a percentage.
func (c *Cluster) MaxUnavailable() intstr.IntOrString {
	return intstr.Parse(c.Spec.UpgradePolicy.MaxUnavailable)
}

// DrainTimeout is how long the pods of a node may take to leave it.
func (c *Cluster) DrainTimeout() time.Duration {
	d, _ := time.ParseDuration(c.Spec.UpgradePolicy.DrainTimeout) // checked when the spec was read
	return d
}
