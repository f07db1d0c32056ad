package amazon

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"clusterctl/provision/cloud/standin"
)

// description is what load balancing says of a classic load balancer (Elastic Load Balancing API
// 2012-06-01, LoadBalancerDescription).
type description struct {
	Name      string     `xml:"LoadBalancerName"`
	DNSName   string     `xml:"DNSName"`
	Listeners []listener `xml:"ListenerDescriptions>member"`
	Subnets   []string   `xml:"Subnets>member"`
	Groups    []string   `xml:"SecurityGroups>member"`
	Instances []member   `xml:"Instances>member"`
	Check     check      `xml:"HealthCheck"`
	Scheme    string     `xml:"Scheme"`
}

type listener struct {
	Protocol         string `xml:"Listener>Protocol"`
	LoadBalancerPort string `xml:"Listener>LoadBalancerPort"`
	InstanceProtocol string `xml:"Listener>InstanceProtocol"`
	InstancePort     string `xml:"Listener>InstancePort"`
}

type member struct{ InstanceId string }

type check struct {
	Target             string
	Interval           string `xml:",omitempty"`
	Timeout            string `xml:",omitempty"`
	UnhealthyThreshold string `xml:",omitempty"`
	HealthyThreshold   string `xml:",omitempty"`
}

// balancer finds a classic load balancer by its name.
func (ts things) balancer(name string) (standin.Thing, error) {
	found := ts.of(balancerType).with("name", name)
	if len(found) == 0 {
		return standin.Thing{}, refusal{"LoadBalancerNotFound", "There is no ACTIVE Load Balancer named '" + name + "'"}
	}
	return found[0], nil
}

func (c Cloud) createBalancer(_ things, form url.Values) (any, error) {
	name := form.Get("LoadBalancerName")
	inputs := map[string]any{
		"name": name, "tags": requestTags(form), "internal": form.Get("Scheme") == "internal",
		"subnets": values(form, "Subnets.member"), "securityGroups": values(form, "SecurityGroups.member"),
	}
	keep(inputs, form, "Listeners.")
	_, err := c.World.Make(balancerType, name, inputs)
	return struct{ DNSName string }{c.dnsName(name)}, err
}

// dnsName ends as those of classic load balancers do: the cloud controller tells their kind by that.
func (c Cloud) dnsName(balancer string) string {
	return balancer + "-0123456789." + c.Region + ".elb.amazonaws.com"
}

// keep takes over fields of a form into the inputs of a thing, by their names in the form.
func keep(inputs map[string]any, form url.Values, prefix string) {
	for key, v := range form {
		if strings.HasPrefix(key, prefix) {
			inputs[key] = v[0]
		}
	}
}

// kept is what keep took over.
func kept(t standin.Thing) url.Values {
	out := url.Values{}
	for key := range t.Inputs {
		if strings.Contains(key, ".") {
			out.Set(key, text(t, key))
		}
	}
	return out
}

func (c Cloud) describeBalancers(all things, form url.Values) (any, error) {
	out := struct {
		Balancers []description `xml:"LoadBalancerDescriptions>member"`
	}{}
	for _, name := range values(form, "LoadBalancerNames.member") {
		t, err := all.balancer(name)
		if err != nil {
			return nil, err
		}
		one := description{
			Name: name, DNSName: c.dnsName(name), Scheme: "internet-facing",
			Subnets: texts(t, "subnets"), Groups: texts(t, "securityGroups"),
		}
		for _, id := range texts(t, "instances") {
			one.Instances = append(one.Instances, member{id})
		}
		if t.Inputs["internal"] == true {
			one.Scheme = "internal"
		}
		form := kept(t)
		for _, l := range items(form, "Listeners.member") {
			one.Listeners = append(one.Listeners, listener{l.Get("Protocol"), l.Get("LoadBalancerPort"), l.Get("InstanceProtocol"), l.Get("InstancePort")})
		}
		get := func(field string) string { return form.Get("HealthCheck." + field) }
		one.Check = check{get("Target"), get("Interval"), get("Timeout"), get("UnhealthyThreshold"), get("HealthyThreshold")}
		out.Balancers = append(out.Balancers, one)
	}
	return out, nil
}

// describeAttributes tells those that a new load balancer has, and those that were changed since.
func (c Cloud) describeAttributes(all things, form url.Values) (any, error) {
	t, err := all.balancer(form.Get("LoadBalancerName"))
	if err != nil {
		return nil, err
	}
	have := kept(t)
	get := func(field, usual string) string {
		if v := have.Get("LoadBalancerAttributes." + field); v != "" {
			return v
		}
		return usual
	}
	type attributes struct {
		Log       string `xml:"AccessLog>Enabled"`
		Draining  string `xml:"ConnectionDraining>Enabled"`
		Idle      string `xml:"ConnectionSettings>IdleTimeout"`
		CrossZone string `xml:"CrossZoneLoadBalancing>Enabled"`
	}
	return struct {
		Attributes attributes `xml:"LoadBalancerAttributes"`
	}{attributes{
		get("AccessLog.Enabled", "false"), get("ConnectionDraining.Enabled", "true"), get("ConnectionSettings.IdleTimeout", "60"),
		get("CrossZoneLoadBalancing.Enabled", "false"),
	}}, nil
}

// changeBalancer takes over attributes, or a health check.
func (c Cloud) changeBalancer(all things, form url.Values) (any, error) {
	t, err := all.balancer(form.Get("LoadBalancerName"))
	if err != nil {
		return nil, err
	}
	keep(t.Inputs, form, "LoadBalancerAttributes.")
	keep(t.Inputs, form, "HealthCheck.")
	return struct{}{}, c.World.Put(t)
}

func (c Cloud) register(all things, form url.Values) (any, error) {
	for _, i := range items(form, "Instances.member") {
		id := i.Get("InstanceId")
		if !slices.ContainsFunc(all, func(t standin.Thing) bool { return t.Type == machineType && t.ID == id }) {
			return nil, refusal{"InvalidInstance", fmt.Sprintf("there is no instance %s", id)}
		}
	}
	return c.members(all, form, func(have, some []string) []string { return append(have, some...) })
}

// deregister takes instances out, also those that are gone.
func (c Cloud) deregister(all things, form url.Values) (any, error) {
	return c.members(all, form, func(have, some []string) []string {
		return slices.DeleteFunc(have, func(id string) bool { return slices.Contains(some, id) })
	})
}

// members changes which instances a load balancer sends connections to.
func (c Cloud) members(all things, form url.Values, change func(have, some []string) []string) (any, error) {
	t, err := all.balancer(form.Get("LoadBalancerName"))
	if err != nil {
		return nil, err
	}
	var some []string
	for _, i := range items(form, "Instances.member") {
		some = append(some, i.Get("InstanceId"))
	}
	t.Inputs["instances"] = change(texts(t, "instances"), some)
	return struct{}{}, c.World.Put(t)
}

func (c Cloud) deleteBalancer(all things, form url.Values) (any, error) {
	t, err := all.balancer(form.Get("LoadBalancerName"))
	if err != nil {
		return nil, err
	}
	return struct{}{}, c.World.Delete(t.ID)
}
