package amazon

import (
	"net/url"

	"clusterctl/provision/cloud/standin"
)

// inNetwork is the filter of what belongs to one network.
func inNetwork(t standin.Thing, filter string) ([]string, bool) {
	return []string{text(t, "vpcId")}, filter == "vpc-id"
}

func (c Cloud) describeSubnets(all things, form url.Values) (any, error) {
	type subnet struct {
		ID   string `xml:"subnetId"`
		VPC  string `xml:"vpcId"`
		CIDR string `xml:"cidrBlock"`
		Zone string `xml:"availabilityZone"`
		Tags []tag  `xml:"tagSet>item"`
	}
	out := struct {
		Subnets []subnet `xml:"subnetSet>item"`
	}{}
	found, err := filtered(form, all.of(subnetType), inNetwork)
	for _, t := range found {
		out.Subnets = append(out.Subnets, subnet{t.ID, text(t, "vpcId"), text(t, "cidrBlock"), text(t, "availabilityZone"), tagSet(t)})
	}
	return out, err
}

// describeRouteTables tells of tables with their subnets and routes: a subnet whose table leads to an
// internet gateway is a public one.
func (c Cloud) describeRouteTables(all things, form url.Values) (any, error) {
	type association struct {
		Table  string `xml:"routeTableId"`
		Subnet string `xml:"subnetId"`
	}
	type route struct {
		To      string `xml:"destinationCidrBlock"`
		Gateway string `xml:"gatewayId,omitempty"`
		NAT     string `xml:"natGatewayId,omitempty"`
	}
	type table struct {
		ID      string        `xml:"routeTableId"`
		VPC     string        `xml:"vpcId"`
		Subnets []association `xml:"associationSet>item"`
		Routes  []route       `xml:"routeSet>item"`
	}
	out := struct {
		Tables []table `xml:"routeTableSet>item"`
	}{}
	found, err := filtered(form, all.of(tableType), inNetwork)
	for _, t := range found {
		one := table{ID: t.ID, VPC: text(t, "vpcId")}
		for _, a := range all.of(associationType).with("routeTableId", t.ID) {
			one.Subnets = append(one.Subnets, association{t.ID, text(a, "subnetId")})
		}
		for _, r := range all.of(routeType).with("routeTableId", t.ID) {
			one.Routes = append(one.Routes, route{text(r, "destinationCidrBlock"), text(r, "gatewayId"), text(r, "natGatewayId")})
		}
		out.Tables = append(out.Tables, one)
	}
	return out, err
}
