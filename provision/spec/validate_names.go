package spec

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// checkNames checks the names of the cluster, its pools and its hosts. All are DNS labels:
// they become host names, node names and the common names of certificates.
func (v *validator) checkNames() {
	v.checkLabel(field.NewPath("metadata", "name"), v.c.Metadata.Name)
	pools, hosts := v.distinct(), v.distinct()
	for i, pool := range v.c.Spec.Workers {
		path := at("workers").Index(i).Child("name")
		v.checkLabel(path, pool.Name)
		pools.add(pool.Name, path, "the pool name %s")
	}
	for h, path := range v.c.hosts() {
		v.checkLabel(path.Child("name"), h.Name)
		hosts.add(h.Name, path.Child("name"), "the host name %s")
	}
	v.checkMadeNames()
}

func (v *validator) checkLabel(path *field.Path, name string) {
	if len(content.IsDNS1123Label(name)) == 0 {
		return
	}
	if len(name) > content.DNS1123LabelMaxLength {
		v.add(path, fmt.Sprintf("must have at most %d characters, has %d", content.DNS1123LabelMaxLength, len(name)), "")
		return
	}
	suggestion := ""
	if fixed := strings.Trim(strings.NewReplacer("_", "-", ".", "-", " ", "-").Replace(name), "-"); len(content.IsDNS1123Label(fixed)) == 0 {
		suggestion = "write " + fixed
	}
	v.add(path, fmt.Sprintf("must be letters, digits and - (a DNS label), got %q", name), suggestion)
}

// checkMadeNames checks the names of hosts that the provider makes from cluster and pool name:
// each is a host name of at most 63 characters with its number.
func (v *validator) checkMadeNames() {
	if !v.c.Spec.Provider.MakesHosts() {
		return
	}
	longest := func(path *field.Path, pool string, replicas int) {
		name := v.c.HostName(pool, max(replicas, 99))
		if len(name) > content.DNS1123LabelMaxLength {
			v.add(path, fmt.Sprintf("makes host names such as %s of %d characters, at most %d are allowed",
				name, len(name), content.DNS1123LabelMaxLength), "shorten the name of the cluster or pool")
		}
	}
	longest(field.NewPath("metadata", "name"), ControlPlanePool, v.c.Spec.ControlPlane.Replicas)
	for i, pool := range v.c.Spec.Workers {
		path := at("workers").Index(i)
		longest(path.Child("name"), pool.Name, pool.Replicas)
		if pool.Name == ControlPlanePool {
			v.add(path.Child("name"), fmt.Sprintf("the name %s is that of the control planes", pool.Name), "choose another name")
		}
	}
}
