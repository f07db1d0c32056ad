package aws

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"clusterctl/provision/cloud/layout"
)

// lookup finds things of a type by their tags: what AWS' function, its argument and its answer are
// called.
type lookup struct{ token, by, result string }

// imageFunction finds an image.
const imageFunction = "aws:ec2/getAmi:getAmi"

// machinesBy is the look-up of instances.
func machinesBy() lookup {
	return lookup{"aws:ec2/getInstances:getInstances", "instanceTags", "ids"}
}

// lookups are for what AWS makes as often as it is asked for.
func lookups() map[string]lookup {
	return map[string]lookup{
		vpcType:           {"aws:ec2/getVpcs:getVpcs", "tags", "ids"},
		subnetType:        {"aws:ec2/getSubnets:getSubnets", "tags", "ids"},
		securityGroupType: {"aws:ec2/getSecurityGroups:getSecurityGroups", "tags", "ids"},
		routeTableType:    {"aws:ec2/getRouteTables:getRouteTables", "tags", "ids"},
		natGatewayType:    {"aws:ec2/getNatGateways:getNatGateways", "tags", "ids"},
		eipType:           {"aws:ec2/getEips:getEips", "tags", "allocationIds"},
		ingressType:       {"aws:vpc/getSecurityGroupRules:getSecurityGroupRules", "tags", "ids"},
		egressType:        {"aws:vpc/getSecurityGroupRules:getSecurityGroupRules", "tags", "ids"},
	}
}

// singles are look-ups that give one thing, or fail: for what has a name that AWS gives only once,
// and so cannot be made again.
func singles() map[string]lookup {
	return map[string]lookup{
		internetGatewayType: {"aws:ec2/getInternetGateway:getInternetGateway", "tags", "internetGatewayId"},
		keyPairType:         {"aws:ec2/getKeyPair:getKeyPair", "keyName", "keyName"},
		roleType:            {"aws:iam/getRole:getRole", "name", "name"},
		instanceProfileType: {"aws:iam/getInstanceProfile:getInstanceProfile", "name", "name"},
		loadBalancerType:    {"aws:lb/getLoadBalancer:getLoadBalancer", "name", "arn"},
		targetGroupType:     {"aws:lb/getTargetGroup:getTargetGroup", "name", "arn"},
	}
}

// Sought says whether a thing of a type is looked for when its making was cut off.
func Sought(typ string) bool {
	_, list := lookups()[typ]
	_, one := singles()[typ]
	return list || one || typ == MachineType
}

// look finds what a run that was cut off may have left: things whose making was begun and not
// recorded, and machines with our tag that the state does not have.
func (b *builder) look() error {
	for _, kind := range slices.Sorted(maps.Keys(b.c.Seen.Pending)) {
		for _, name := range b.c.Seen.Pending[kind] {
			ids, err := b.pending(kind, name)
			if err != nil {
				return err
			}
			if err := b.claim(kind, name, ids); err != nil {
				return err
			}
		}
	}
	return b.lookForMachines()
}

// pending finds a thing whose making was cut off.
func (b *builder) pending(kind, name string) ([]string, error) {
	tags := map[string]string{clusterTag: b.name, "Name": name}
	if by, ok := lookups()[kind]; ok {
		return b.find(by, tags)
	}
	by, ok := singles()[kind]
	if !ok {
		return nil, nil
	}
	args := map[string]any{by.by: tags}
	if by.by != "tags" {
		args[by.by] = b.nameOf(kind, name)
	}
	var out map[string]any
	if err := b.Look(by.token, args, &out); err != nil && !missing(err) {
		return nil, fmt.Errorf("look for %s in AWS: %w", name, err)
	}
	mark, _ := out["tags"].(map[string]any)
	id, _ := out[by.result].(string)
	if id == "" || mark[clusterTag] != b.name {
		return nil, nil // it is not there, or somebody else's: then AWS refuses the name
	}
	return []string{id}, nil
}

// nameOf is what AWS calls a thing of the program.
func (b *builder) nameOf(kind, name string) string {
	if kind == roleType || kind == instanceProfileType {
		return b.global(strings.TrimPrefix(name, b.long("")))
	}
	return name
}

// missing tells whether a look-up failed because there is no such thing.
func missing(err error) bool {
	return slices.ContainsFunc([]string{"couldn't find resource", "empty result", "no matching", "not found", "NotFound", "NoSuchEntity"}, func(s string) bool {
		return strings.Contains(err.Error(), s)
	})
}

// find gives the ids of the things that carry all of the tags.
func (b *builder) find(by lookup, tags map[string]string) ([]string, error) {
	args := map[string]any{by.by: tags}
	switch by { // what was deleted is told of for an hour
	case machinesBy():
		args["instanceStateNames"] = []string{"pending", "running", "stopping", "stopped"}
	case lookups()[natGatewayType]:
		args["filters"] = []map[string]any{{"name": "state", "values": []string{"pending", "available"}}}
	}
	var out map[string]any
	if err := b.Look(by.token, args, &out); err != nil {
		return nil, fmt.Errorf("look for what there is in AWS: %w", err)
	}
	var ids []string
	list, _ := out[by.result].([]any)
	for _, id := range list {
		ids = append(ids, fmt.Sprint(id))
	}
	return ids, nil
}

func (b *builder) claim(kind, name string, ids []string) error {
	switch len(ids) {
	case 0:
		return nil
	case 1:
		b.Adopt[kind+" "+name] = ids[0]
		return nil
	}
	return fmt.Errorf("AWS has %d things called %s with the tag %s=%s: %s; delete all but one", len(ids), name, clusterTag, b.name, strings.Join(ids, ", "))
}

// lookForMachines compares the machines in the cloud with those in the state. One that is missing
// there and has the name of a host is adopted.
func (b *builder) lookForMachines() error {
	there, err := b.find(machinesBy(), map[string]string{clusterTag: b.name})
	if err != nil {
		return err
	}
	known := slices.Collect(maps.Values(b.c.Seen.Machines))
	strangers := slices.DeleteFunc(there, func(id string) bool { return slices.Contains(known, id) })
	if len(strangers) > 0 && b.c.Seen.Founded {
		if strangers, err = b.adoptMachines(strangers); err != nil {
			return err
		}
	}
	if len(strangers) > 0 {
		return &layout.StrangersError{Cloud: "AWS", Cluster: b.name, Mark: "tagged " + clusterTag + "=" + b.name, IDs: strangers, Founded: b.c.Seen.Founded}
	}
	return nil
}

// adoptMachines claims the strangers that are hosts of ours, and gives the rest.
func (b *builder) adoptMachines(strangers []string) ([]string, error) {
	names := []string{b.long("bastion")}
	for _, m := range b.c.Machines {
		names = append(names, m.Name)
	}
	for _, name := range names {
		if b.c.Seen.Machines[name] != "" {
			continue
		}
		ids, err := b.find(machinesBy(), map[string]string{clusterTag: b.name, "Name": name})
		if err != nil {
			return nil, err
		}
		if err := b.claim(MachineType, name, ids); err != nil {
			return nil, err
		}
		strangers = slices.DeleteFunc(strangers, func(id string) bool { return slices.Contains(ids, id) })
	}
	return strangers, nil
}

// image gives the id of the image that machines of a pool are made from: the spec's, the one that
// was found when the cluster was made, or the newest that fits now.
func (b *builder) image(pool string, found map[string]string) (string, error) {
	i := b.a.PoolImage(pool)
	if i.ID != "" {
		return i.ID, nil
	}
	key := i.Owner + "/" + i.Name
	if id := found[key]; id != "" {
		return id, nil
	}
	args := map[string]any{
		"owners": []string{i.Owner}, "mostRecent": true,
		"filters": []any{
			map[string]any{"name": "name", "values": []string{i.Name}},
			map[string]any{"name": "state", "values": []string{"available"}},
		},
	}
	var ami struct {
		Id string `pulumi:"id"`
	}
	if err := b.Look(imageFunction, args, &ami); err != nil {
		return "", fmt.Errorf("find the image %s of account %s: %w", i.Name, i.Owner, err)
	}
	if ami.Id == "" {
		return "", errors.New("AWS has no image " + i.Name + " of account " + i.Owner)
	}
	found[key] = ami.Id
	return ami.Id, nil
}
