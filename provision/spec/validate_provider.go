package spec

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// checkProvider checks that there is one provider and that hosts are counted or listed as it
// needs them.
func (v *validator) checkProvider() {
	p := v.c.Spec.Provider
	path := at("provider")
	set := p.names()
	switch {
	case len(set) > 1:
		v.add(path, fmt.Sprintf("has %s, need exactly one provider", strings.Join(set, " and ")), "remove all but one")
	case len(set) == 0:
		v.add(path, "need exactly one provider: "+oneOf(providerNames()), v.emptyProvider())
	case p.SSH != nil:
		v.checkListed()
	default:
		v.checkCounted()
	}
}

// names lists the providers that are set.
func (p *Provider) names() []string {
	var out []string
	value := reflect.ValueOf(p).Elem()
	for _, f := range fieldsOf(value.Type()) {
		if !value.FieldByIndex(f.index).IsNil() {
			out = append(out, f.name)
		}
	}
	return out
}

// providerNames lists the providers there are.
func providerNames() []string {
	var out []string
	for _, f := range fieldsOf(reflect.TypeFor[Provider]()) {
		out = append(out, f.name)
	}
	return out
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
