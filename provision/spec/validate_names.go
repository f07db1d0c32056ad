package spec

import (
	"fmt"
	"strconv"
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
	if v.c.Spec.Provider.Local == nil {
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

// distinct finds values that are there twice.
type distinct struct {
	v     *validator
	first map[string]*field.Path
}

func (v *validator) distinct() distinct { return distinct{v, map[string]*field.Path{}} }

// add reports value when an earlier path has it too. what is its name in the message, with %s for
// the value; empty values are no values.
func (d distinct) add(value string, path *field.Path, what string) {
	if value == "" {
		return
	}
	if first, ok := d.first[value]; ok {
		d.v.add(path, fmt.Sprintf(what+" is used twice, also by %s", value, d.v.where(first)), "")
		return
	}
	d.first[value] = path
}

// checkProvider checks that there is one provider and that hosts are counted or listed as it
// needs them.
func (v *validator) checkProvider() {
	p := v.c.Spec.Provider
	path := at("provider")
	switch {
	case p.Local != nil && p.SSH != nil:
		v.add(path, "has local and ssh, need exactly one provider", "remove one of them")
	case p.Local != nil:
		v.checkCounted()
	case p.SSH != nil:
		v.checkListed()
	default:
		v.add(path, "need exactly one provider: local or ssh", v.emptyProvider())
	}
}

// emptyProvider explains a provider that is named but null.
func (v *validator) emptyProvider() string {
	for _, name := range []string{"local", "ssh"} {
		if v.isSet(at("provider", name)) {
			return fmt.Sprintf("write %s: {} for one without settings", name)
		}
	}
	return "write local: {} or ssh: {}"
}

// checkCounted is for providers that make the hosts.
func (v *validator) checkCounted() {
	const message, suggestion = "the provider makes the hosts, they cannot be listed", "set replicas instead"
	cp := at("controlPlane")
	if v.isSet(cp.Child("hosts")) {
		v.add(cp.Child("hosts"), message, suggestion)
	} else if !v.isSet(cp.Child("replicas")) {
		v.add(cp.Child("replicas"), "is required with this provider", "use one of 1, 3, 5")
	}
	for i := range v.c.Spec.Workers {
		pool := at("workers").Index(i)
		if v.isSet(pool.Child("hosts")) {
			v.add(pool.Child("hosts"), message, suggestion)
		} else if !v.isSet(pool.Child("replicas")) {
			v.add(pool.Child("replicas"), "is required with this provider", "")
		}
	}
}

// checkListed is for the provider ssh, whose hosts exist already.
func (v *validator) checkListed() {
	const message, suggestion = "hosts of the provider ssh are listed, not counted", "list hosts instead"
	cp := at("controlPlane")
	n := len(v.c.Spec.ControlPlane.Hosts)
	if v.isSet(cp.Child("replicas")) {
		v.add(cp.Child("replicas"), message, suggestion)
	} else if n != 1 && n != 3 && n != 5 {
		v.add(cp.Child("hosts"), "need 1, 3 or 5 control planes, got "+strconv.Itoa(n),
			"an even number of etcd members bears no more losses than one less")
	}
	for i := range v.c.Spec.Workers {
		pool := at("workers").Index(i)
		if v.isSet(pool.Child("replicas")) {
			v.add(pool.Child("replicas"), message, suggestion)
		} else if !v.isSet(pool.Child("hosts")) {
			v.add(pool.Child("hosts"), "is required with the provider ssh", "")
		}
	}
}
