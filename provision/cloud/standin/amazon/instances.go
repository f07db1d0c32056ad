package amazon

import (
	"encoding/xml"
	"fmt"
	"maps"
	"slices"
	"strings"

	"clusterctl/provision/cloud/standin"
)

// machineType is the type of an instance in the world.
const machineType = "aws:ec2/instance:Instance"

// instance is what EC2 says of an instance, as far as it is asked for (EC2 API, Instance).
type instance struct {
	ID         string    `xml:"instanceId"`
	Type       string    `xml:"instanceType"`
	State      state     `xml:"instanceState"`
	Zone       string    `xml:"placement>availabilityZone"`
	VPC        string    `xml:"vpcId"`
	Subnet     string    `xml:"subnetId"`
	Address    string    `xml:"privateIpAddress"`
	DNSName    string    `xml:"privateDnsName"`
	Interfaces []adapter `xml:"networkInterfaceSet>item"`
	Tags       []tag     `xml:"tagSet>item"`
}

type state struct {
	Code int    `xml:"code"`
	Name string `xml:"name"`
}

type adapter struct {
	ID        string   `xml:"networkInterfaceId"`
	Status    string   `xml:"status"`
	Index     int      `xml:"attachment>deviceIndex"`
	Addresses []string `xml:"privateIpAddressesSet>item>privateIpAddress"`
}

type tag struct {
	Key   string `xml:"key"`
	Value string `xml:"value"`
}

type reservations struct {
	XMLName      xml.Name      `xml:"DescribeInstancesResponse"`
	Reservations []reservation `xml:"reservationSet>item"`
}

type reservation struct {
	ID        string     `xml:"reservationId"`
	Instances []instance `xml:"instancesSet>item"`
}

// instances lists the things of the world that are instances.
func (c Cloud) instances() ([]standin.Thing, error) {
	all, err := c.World.Things()
	return slices.DeleteFunc(all, func(t standin.Thing) bool { return t.Type != machineType }), err
}

// describeInstances tells of the instances with these ids, or of all.
func (c Cloud) describeInstances(ids []string) (any, error) {
	things, err := c.instances()
	if err != nil {
		return nil, err
	}
	out := reservations{}
	for _, t := range things {
		if len(ids) == 0 || slices.Contains(ids, t.ID) {
			out.Reservations = append(out.Reservations, reservation{"r-" + t.ID, []instance{c.describe(t)}})
		}
	}
	for _, id := range ids {
		if !slices.ContainsFunc(things, func(t standin.Thing) bool { return t.ID == id }) {
			return nil, refusal{"InvalidInstanceID.NotFound", fmt.Sprintf("The instance ID '%s' does not exist", id)}
		}
	}
	return out, nil
}

func (c Cloud) describe(t standin.Thing) instance {
	text := func(key string) string { s, _ := t.Inputs[key].(string); return s }
	address := text("privateIp")
	out := instance{
		ID: t.ID, Type: text("instanceType"), State: state{16, "running"}, Zone: text("availabilityZone"), VPC: "vpc-0", Subnet: text("subnetId"), Address: address,
		DNSName:    "ip-" + strings.ReplaceAll(address, ".", "-") + "." + c.Region + ".compute.internal",
		Interfaces: []adapter{{ID: "eni-" + t.ID, Status: "in-use", Addresses: []string{address}}},
	}
	tags, _ := t.Inputs["tags"].(map[string]any)
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		out.Tags = append(out.Tags, tag{k, fmt.Sprint(tags[k])})
	}
	return out
}

// describeZones gives each zone an id that is not its name, as AWS does.
func (c Cloud) describeZones() any {
	type zone struct {
		Name   string `xml:"zoneName"`
		ID     string `xml:"zoneId"`
		Type   string `xml:"zoneType"`
		State  string `xml:"zoneState"`
		Region string `xml:"regionName"`
	}
	out := struct {
		XMLName xml.Name `xml:"DescribeAvailabilityZonesResponse"`
		Zones   []zone   `xml:"availabilityZoneInfo>item"`
	}{}
	for i, name := range c.Zones {
		out.Zones = append(out.Zones, zone{name, fmt.Sprintf("zone-az%d", i+1), "availability-zone", "available", c.Region})
	}
	return out
}
