package amazon

import (
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strconv"

	"clusterctl/provision/cloud/standin"
)

// permission is what a security group lets in, from ranges or from members of other groups (EC2 API,
// IpPermission).
type permission struct {
	Protocol string       `xml:"ipProtocol"`
	First    *int         `xml:"fromPort"`
	Last     *int         `xml:"toPort"`
	Groups   []groupNamed `xml:"groups>item"`
	Ranges   []string     `xml:"ipRanges>item>cidrIp"`
}

func (c Cloud) describeGroups(all things, form url.Values) (any, error) {
	type group struct {
		ID          string       `xml:"groupId"`
		Name        string       `xml:"groupName"`
		Description string       `xml:"groupDescription"`
		VPC         string       `xml:"vpcId"`
		Permissions []permission `xml:"ipPermissions>item"`
		Tags        []tag        `xml:"tagSet>item"`
	}
	ids := values(form, "GroupId")
	found, err := filtered(form, all.of(groupType), func(t standin.Thing, filter string) ([]string, bool) {
		switch filter {
		case "group-id":
			return []string{t.ID}, true
		case "group-name":
			return []string{text(t, "name")}, true
		case "ip-permission.group-id":
			var from []string
			for _, r := range all.of(ruleType).with("securityGroupId", t.ID) {
				from = append(from, text(r, "referencedSecurityGroupId"))
			}
			return from, true
		}
		return inNetwork(t, filter)
	})
	out := struct {
		Groups []group `xml:"securityGroupInfo>item"`
	}{}
	for _, t := range found {
		if len(ids) > 0 && !slices.Contains(ids, t.ID) {
			continue
		}
		one := group{t.ID, text(t, "name"), text(t, "description"), text(t, "vpcId"), nil, tagSet(t)}
		for _, r := range all.of(ruleType).with("securityGroupId", t.ID) {
			one.Permissions = append(one.Permissions, permits(r))
		}
		out.Groups = append(out.Groups, one)
	}
	return out, err
}

// permits is what a rule lets in.
func permits(rule standin.Thing) permission {
	port := func(field string) *int {
		n, ok := rule.Inputs[field].(float64)
		if !ok {
			return nil
		}
		out := int(n)
		return &out
	}
	out := permission{Protocol: text(rule, "ipProtocol"), First: port("fromPort"), Last: port("toPort")}
	if from := text(rule, "referencedSecurityGroupId"); from != "" {
		out.Groups = []groupNamed{{ID: from}}
	}
	if from := text(rule, "cidrIpv4"); from != "" {
		out.Ranges = []string{from}
	}
	return out
}

func (c Cloud) createGroup(all things, form url.Values) (any, error) {
	name, vpc := form.Get("GroupName"), form.Get("VpcId")
	if len(all.of(groupType).with("name", name).with("vpcId", vpc)) > 0 {
		return nil, refusal{"InvalidGroup.Duplicate", fmt.Sprintf("The security group '%s' already exists for VPC '%s'", name, vpc)}
	}
	t, err := c.World.Make(groupType, name, map[string]any{"name": name, "description": form.Get("GroupDescription"), "vpcId": vpc, "tags": requestTags(form)})
	return struct {
		ID string `xml:"groupId"`
	}{t.ID}, err
}

// rules are the rules that a request names: one for each range and each group.
func rules(form url.Values) ([]map[string]any, error) {
	var out []map[string]any
	for _, p := range items(form, "IpPermissions") {
		base := map[string]any{"securityGroupId": form.Get("GroupId"), "ipProtocol": p.Get("IpProtocol")}
		for field, in := range map[string]string{"fromPort": "FromPort", "toPort": "ToPort"} {
			if !p.Has(in) {
				continue
			}
			n, err := strconv.ParseFloat(p.Get(in), 64)
			if err != nil {
				return nil, refusal{"InvalidParameterValue", err.Error()}
			}
			base[field] = n
		}
		from := map[string][]string{}
		for _, r := range items(p, "IpRanges") {
			from["cidrIpv4"] = append(from["cidrIpv4"], r.Get("CidrIp"))
		}
		for _, g := range items(p, "Groups") {
			from["referencedSecurityGroupId"] = append(from["referencedSecurityGroupId"], g.Get("GroupId"))
		}
		for field, sources := range from {
			for _, source := range sources {
				rule := map[string]any{field: source}
				for k, v := range base {
					rule[k] = v
				}
				out = append(out, rule)
			}
		}
	}
	return out, nil
}

// rule finds one that is there; tags and descriptions do not make another one of it.
func (ts things) rule(want map[string]any) (standin.Thing, bool) {
	i := slices.IndexFunc(ts, func(t standin.Thing) bool {
		return t.Type == ruleType && text(t, "securityGroupId") == want["securityGroupId"] && reflect.DeepEqual(permits(t), permits(standin.Thing{Inputs: want}))
	})
	if i < 0 {
		return standin.Thing{}, false
	}
	return ts[i], true
}

func (c Cloud) authorize(all things, form url.Values) (any, error) {
	wanted, err := rules(form)
	for _, rule := range wanted {
		if _, there := all.rule(rule); there {
			return nil, refusal{"InvalidPermission.Duplicate", fmt.Sprintf("the rule %v exists", rule)}
		}
	}
	for _, rule := range wanted {
		if err == nil {
			_, err = c.World.Make(ruleType, "", rule)
		}
	}
	return done{true}, err
}

func (c Cloud) revoke(all things, form url.Values) (any, error) {
	unwanted, err := rules(form)
	for _, rule := range unwanted {
		t, there := all.rule(rule)
		if !there {
			return nil, refusal{"InvalidPermission.NotFound", fmt.Sprintf("there is no rule %v", rule)}
		}
		if err == nil {
			err = c.World.Delete(t.ID)
		}
	}
	return done{true}, err
}

// deleteGroup deletes a group with its rules, when nobody refers to it.
func (c Cloud) deleteGroup(all things, form url.Values) (any, error) {
	id := form.Get("GroupId")
	for _, t := range all {
		if text(t, "referencedSecurityGroupId") == id && text(t, "securityGroupId") != id ||
			slices.Contains(texts(t, "securityGroups"), id) || slices.Contains(texts(t, "vpcSecurityGroupIds"), id) {
			return nil, refusal{"DependencyViolation", fmt.Sprintf("resource %s has a dependent object: %s", id, t.ID)}
		}
	}
	for _, r := range all.of(ruleType).with("securityGroupId", id) {
		if err := c.World.Delete(r.ID); err != nil {
			return nil, err
		}
	}
	return done{true}, c.World.Delete(id)
}

// done is the answer to what only has to be done.
type done struct {
	Return bool `xml:"return"`
}
