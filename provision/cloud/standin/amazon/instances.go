package amazon

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"clusterctl/provision/cloud/standin"
)

// instance is what EC2 says of an instance, as far as it is asked for (EC2 API, Instance).
type instance struct {
	ID         string       `xml:"instanceId"`
	Type       string       `xml:"instanceType"`
	State      state        `xml:"instanceState"`
	Zone       string       `xml:"placement>availabilityZone"`
	VPC        string       `xml:"vpcId"`
	Subnet     string       `xml:"subnetId"`
	Address    string       `xml:"privateIpAddress"`
	DNSName    string       `xml:"privateDnsName"`
	Groups     []groupNamed `xml:"groupSet>item"`
	Interfaces []adapter    `xml:"networkInterfaceSet>item"`
	Tags       []tag        `xml:"tagSet>item"`
}

type state struct {
	Code int    `xml:"code"`
	Name string `xml:"name"`
}

type groupNamed struct {
	ID   string `xml:"groupId"`
	Name string `xml:"groupName"`
}

type adapter struct {
	ID        string   `xml:"networkInterfaceId"`
	Status    string   `xml:"status"`
	Index     int      `xml:"attachment>deviceIndex"`
	Addresses []string `xml:"privateIpAddressesSet>item>privateIpAddress"`
}

type reservation struct {
	ID        string     `xml:"reservationId"`
	Instances []instance `xml:"instancesSet>item"`
}

// describeInstances tells of the instances with these ids, or of all.
func (c Cloud) describeInstances(all things, form url.Values) (any, error) {
	ids, there := values(form, "InstanceId"), all.of(machineType)
	for _, id := range ids {
		if !slices.ContainsFunc(there, func(t standin.Thing) bool { return t.ID == id }) {
			return nil, refusal{"InvalidInstanceID.NotFound", fmt.Sprintf("The instance ID '%s' does not exist", id)}
		}
	}
	there, err := filtered(form, there, instanceFilter)
	if err != nil {
		return nil, err
	}
	out := struct {
		Reservations []reservation `xml:"reservationSet>item"`
	}{}
	for _, t := range there {
		if len(ids) == 0 || slices.Contains(ids, t.ID) {
			out.Reservations = append(out.Reservations, reservation{"r-" + t.ID, []instance{c.describe(all, t)}})
		}
	}
	return out, nil
}

func instanceFilter(t standin.Thing, filter string) ([]string, bool) {
	switch filter {
	case "tag-key":
		return slices.Collect(maps.Keys(tags(t))), true
	case "instance-state-name":
		return []string{"running"}, true
	}
	return nil, false
}

func (c Cloud) describe(all things, t standin.Thing) instance {
	address := text(t, "privateIp")
	out := instance{
		ID: t.ID, Type: text(t, "instanceType"), State: state{16, "running"}, Zone: text(t, "availabilityZone"), Subnet: text(t, "subnetId"), Address: address,
		DNSName:    "ip-" + strings.ReplaceAll(address, ".", "-") + "." + c.Region + ".compute.internal",
		Interfaces: []adapter{{ID: "eni-" + t.ID, Status: "in-use", Addresses: []string{address}}},
		Tags:       tagSet(t),
	}
	for _, other := range all {
		switch {
		case other.Type == subnetType && other.ID == out.Subnet:
			out.VPC = text(other, "vpcId")
		case other.Type == groupType && slices.Contains(texts(t, "vpcSecurityGroupIds"), other.ID):
			out.Groups = append(out.Groups, groupNamed{other.ID, text(other, "name")})
		}
	}
	return out
}

func (c Cloud) noTopology(things, url.Values) (any, error) {
	return nil, refusal{"UnsupportedOperation", "no topology in " + c.Region}
}

// describeZones gives each zone an id that is not its name, as AWS does.
func (c Cloud) describeZones(things, url.Values) (any, error) {
	type zone struct {
		Name   string `xml:"zoneName"`
		ID     string `xml:"zoneId"`
		Type   string `xml:"zoneType"`
		State  string `xml:"zoneState"`
		Region string `xml:"regionName"`
	}
	out := struct {
		Zones []zone `xml:"availabilityZoneInfo>item"`
	}{}
	for i, name := range c.Zones {
		out.Zones = append(out.Zones, zone{name, fmt.Sprintf("zone-az%d", i+1), "availability-zone", "available", c.Region})
	}
	return out, nil
}
