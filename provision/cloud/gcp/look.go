package gcp

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"clusterctl/provision/cloud/layout"
)

// lookup finds a thing by its name, which a project has once. id is what the provider imports by.
type lookup struct {
	token string
	id    string // with the project, the place and the name put in
	place string // zone or region: the argument that the function wants besides the name
	under string // and one more, whose value is the cluster's name: what the thing belongs to
}

// imageFunction finds the newest image of a family.
const imageFunction = "gcp:compute/getImage:getImage"

// lookups are for what stands in the way when a run that was cut off has made it already.
func lookups() map[string]lookup {
	return map[string]lookup{
		networkType:        {"gcp:compute/getNetwork:getNetwork", "projects/%s/global/networks/%[3]s", "", ""},
		subnetworkType:     {"gcp:compute/getSubnetwork:getSubnetwork", "projects/%s/regions/%s/subnetworks/%s", "region", ""},
		routerType:         {"gcp:compute/getRouter:getRouter", "projects/%s/regions/%s/routers/%s", "region", "network"},
		routerNatType:      {"gcp:compute/getRouterNat:getRouterNat", "%s/%s/%[3]s/%[3]s", "region", "router"},
		addressType:        {"gcp:compute/getAddress:getAddress", "projects/%s/regions/%s/addresses/%s", "region", ""},
		forwardingRuleType: {"gcp:compute/getForwardingRule:getForwardingRule", "projects/%s/regions/%s/forwardingRules/%s", "region", ""},
		DiskType:           {"gcp:compute/getDisk:getDisk", "projects/%s/zones/%s/disks/%s", "zone", ""},
		MachineType:        {"gcp:compute/getInstance:getInstance", "projects/%s/zones/%s/instances/%s", "zone", ""},
		instanceGroupType:  {"gcp:compute/getInstanceGroup:getInstanceGroup", "projects/%s/zones/%s/instanceGroups/%s", "zone", ""},
		backendServiceType: {"gcp:compute/getRegionBackendService:getRegionBackendService", "projects/%s/regions/%s/backendServices/%s", "region", ""},
		accountType:        {"gcp:serviceaccount/getAccount:getAccount", "projects/%[1]s/serviceAccounts/%[3]s@%[1]s.iam.gserviceaccount.com", "", ""},
	}
}

// Sought says whether a thing of a type is looked for when its making was cut off.
func Sought(typ string) bool {
	_, ok := lookups()[typ]
	return ok
}

// look finds what a run that was cut off may have left, and machines that the state does not know.
func (b *builder) look() error {
	for _, kind := range slices.Sorted(maps.Keys(b.c.Seen.Pending)) {
		for _, name := range b.c.Seen.Pending[kind] {
			if err := b.claim(kind, name, b.placeOf(kind, name)); err != nil {
				return err
			}
		}
	}
	var strangers []string
	for _, m := range b.c.Machines {
		if b.c.Seen.Machines[m.Name] != "" {
			continue
		}
		if err := b.claim(MachineType, m.Name, b.g.Zones[m.Zone]); err != nil {
			return err
		}
		if id := b.Adopt[MachineType+" "+m.Name]; id != "" && !b.c.Seen.Founded {
			strangers = append(strangers, id)
		}
	}
	if len(strangers) > 0 {
		return &layout.StrangersError{Cloud: "GCP", Cluster: b.name, Mark: "named like its hosts", IDs: strangers}
	}
	return nil
}

// placeOf is the zone or region of a thing whose making was cut off.
func (b *builder) placeOf(kind, name string) string {
	if lookups()[kind].place != "zone" {
		return b.g.Region
	}
	for _, m := range b.c.Machines {
		if name == m.Name || strings.HasPrefix(name, m.Name+"-") {
			return b.g.Zones[m.Zone]
		}
	}
	if zone := strings.TrimPrefix(name, b.long("cp-")); kind == instanceGroupType && slices.Contains(b.g.Zones, zone) {
		return zone
	}
	return b.g.Zones[0] // the bastion
}

// claim adopts a thing that is there.
func (b *builder) claim(kind, name, place string) error {
	by, ok := lookups()[kind]
	if !ok {
		return nil
	}
	args := map[string]any{"name": name, "project": b.g.Project}
	if kind == accountType {
		args = map[string]any{"accountId": name, "project": b.g.Project}
	}
	if by.place != "" {
		args[by.place] = place
	}
	if by.under != "" {
		args[by.under] = b.name
	}
	var out struct {
		Id       string `pulumi:"id"`
		SelfLink string `pulumi:"selfLink"`
	}
	err := b.Look(by.token, args, &out)
	if err != nil && !strings.Contains(err.Error(), "not found") && !strings.Contains(err.Error(), "notFound") {
		return fmt.Errorf("look for %s in GCP: %w", name, err)
	}
	if err == nil && (out.SelfLink != "" || kind == accountType && out.Id != "" || kind == routerNatType && out.Id != "") {
		b.Adopt[kind+" "+name] = fmt.Sprintf(by.id, b.g.Project, place, name)
	}
	return nil
}

// image gives the image that machines of a pool are made from: the spec's, the one that was found
// when the cluster was made, or the newest of its family now.
func (b *builder) image(pool string, found map[string]string) (string, error) {
	i := b.g.PoolImage(pool)
	if i.Name != "" {
		return "projects/" + i.Project + "/global/images/" + i.Name, nil
	}
	key := i.Project + "/" + i.Family
	if name := found[key]; name != "" {
		return name, nil
	}
	var out struct {
		Name string `pulumi:"name"`
	}
	args := map[string]any{"project": i.Project, "family": i.Family}
	if err := b.Look(imageFunction, args, &out); err != nil {
		return "", fmt.Errorf("find the image of family %s in project %s: %w", i.Family, i.Project, err)
	}
	if out.Name == "" {
		return "", fmt.Errorf("project %s has no image of family %s", i.Project, i.Family)
	}
	found[key] = "projects/" + i.Project + "/global/images/" + out.Name
	return found[key], nil
}
