package amazon

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"clusterctl/provision/cloud/standin"
)

// Types of things in the world, as Pulumi's provider calls them.
const (
	machineType     = "aws:ec2/instance:Instance"
	subnetType      = "aws:ec2/subnet:Subnet"
	tableType       = "aws:ec2/routeTable:RouteTable"
	associationType = "aws:ec2/routeTableAssociation:RouteTableAssociation"
	routeType       = "aws:ec2/route:Route"
	groupType       = "aws:ec2/securityGroup:SecurityGroup"
	ruleType        = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
	balancerType    = "aws:elb/loadBalancer:LoadBalancer"
	profileType     = "aws:iam/instanceProfile:InstanceProfile"
	policyType      = "aws:iam/rolePolicy:RolePolicy"
)

// things is what there is when a question is asked.
type things []standin.Thing

// of are those of a type.
func (ts things) of(typ string) things {
	return slices.DeleteFunc(slices.Clone(ts), func(t standin.Thing) bool { return t.Type != typ })
}

// with are those that have a text in a field.
func (ts things) with(field, value string) things {
	return slices.DeleteFunc(slices.Clone(ts), func(t standin.Thing) bool { return text(t, field) != value })
}

// target is what a request changes: field is what it is named by, empty for nothing.
func (ts things) target(field, name string) (standin.Thing, error) {
	switch field {
	case "GroupId":
		i := slices.IndexFunc(ts, func(t standin.Thing) bool { return t.Type == groupType && t.ID == name })
		if i < 0 {
			return standin.Thing{}, refusal{"InvalidGroup.NotFound", fmt.Sprintf("The security group '%s' does not exist", name)}
		}
		return ts[i], nil
	case "LoadBalancerName":
		return ts.balancer(name)
	}
	return standin.Thing{}, nil
}

// may tells whether the role of an instance has a policy that allows an action: with these tags on
// what is made, or on the thing that is changed (IAM JSON policy elements: Condition). Only statements
// for everything there is are looked at.
func (ts things) may(who standin.Thing, action string, request map[string]any, on standin.Thing) bool {
	for _, profile := range ts.of(profileType).with("name", text(who, "iamInstanceProfile")) {
		for _, p := range ts.of(policyType).with("role", text(profile, "role")) {
			var policy struct {
				Statement []struct {
					Action    []string
					Resource  string
					Condition map[string]map[string]string
				}
			}
			if err := json.Unmarshal([]byte(text(p, "policy")), &policy); err != nil {
				return false
			}
			for _, s := range policy.Statement {
				if s.Resource == "*" && slices.Contains(s.Action, action) && holds(s.Condition, request, tags(on)) {
					return true
				}
			}
		}
	}
	return false
}

// holds tells whether tags are as a policy's conditions want them.
func holds(conditions map[string]map[string]string, request, there map[string]any) bool {
	for operator, keys := range conditions {
		for key, want := range keys {
			in, tag, _ := strings.Cut(key, "/")
			have := map[string]map[string]any{"aws:RequestTag": request, "aws:ResourceTag": there}[in]
			if operator != "StringEquals" || have[tag] != want {
				return false
			}
		}
	}
	return true
}

func text(t standin.Thing, field string) string { s, _ := t.Inputs[field].(string); return s }

func texts(t standin.Thing, field string) []string {
	var out []string
	list, _ := t.Inputs[field].([]any)
	for _, v := range list {
		out = append(out, fmt.Sprint(v))
	}
	return out
}

func tags(t standin.Thing) map[string]any {
	out, _ := t.Inputs["tags"].(map[string]any)
	return out
}

type tag struct {
	Key   string `xml:"key"`
	Value string `xml:"value"`
}

func tagSet(t standin.Thing) []tag {
	var out []tag
	for _, k := range slices.Sorted(maps.Keys(tags(t))) {
		out = append(out, tag{k, fmt.Sprint(tags(t)[k])})
	}
	return out
}
