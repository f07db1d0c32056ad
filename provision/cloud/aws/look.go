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

// machinesBy is the look-up of instances.
func machinesBy() lookup {
	return lookup{"aws:ec2/getInstances:getInstances", "instanceTags", "ids"}
}

// lookups are for what costs something or stands in the way when it is made twice. Other types
// have names of their own, which AWS gives only once, or belong to one of these.
func lookups() map[string]lookup {
	return map[string]lookup{
		vpcType:           {"aws:ec2/getVpcs:getVpcs", "tags", "ids"},
		subnetType:        {"aws:ec2/getSubnets:getSubnets", "tags", "ids"},
		securityGroupType: {"aws:ec2/getSecurityGroups:getSecurityGroups", "tags", "ids"},
		routeTableType:    {"aws:ec2/getRouteTables:getRouteTables", "tags", "ids"},
		natGatewayType:    {"aws:ec2/getNatGateways:getNatGateways", "tags", "ids"},
		eipType:           {"aws:ec2/getEips:getEips", "tags", "allocationIds"},
	}
}

// look finds what a run that was cut off may have left: things whose making was begun and not
// recorded, and machines with our tag that the state does not have.
func (b *builder) look() error {
	for _, kind := range slices.Sorted(maps.Keys(b.c.Seen.Pending)) {
		by, ok := lookups()[kind]
		if !ok {
			continue
		}
		for _, name := range b.c.Seen.Pending[kind] {
			ids, err := b.find(by, map[string]string{clusterTag: b.name, "Name": name})
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

// find gives the ids of the things that carry all of the tags.
func (b *builder) find(by lookup, tags map[string]string) ([]string, error) {
	args := map[string]any{by.by: tags}
	if by == machinesBy() {
		args["instanceStateNames"] = []string{"pending", "running", "stopping", "stopped"} // not: terminated
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
	if err := b.Look("aws:ec2/getAmi:getAmi", args, &ami); err != nil {
		return "", fmt.Errorf("find the image %s of account %s: %w", i.Name, i.Owner, err)
	}
	if ami.Id == "" {
		return "", errors.New("AWS has no image " + i.Name + " of account " + i.Owner)
	}
	found[key] = ami.Id
	return ami.Id, nil
}
