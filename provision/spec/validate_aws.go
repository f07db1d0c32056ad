package spec

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxAWSName is what a cluster's name may have with AWS: the load balancer and its target group
// are called NAME-api, and have at most 32 characters (Elastic Load Balancing API,
// CreateLoadBalancer).
const maxAWSName = 32 - len("-api")

// Limits of the VPC: AWS allows /16 to /28; below /20 a zone has no room for hosts.
const (
	minVPCBits = 16
	maxVPCBits = 20
	// maxZones is how many zones the VPC's range is divided among.
	maxZones = 6
)

// checkAWS checks what can be known of AWS without asking it.
func (v *validator) checkAWS() {
	a := v.c.Spec.Provider.AWS
	if a == nil {
		return
	}
	path := at("provider", "aws")
	v.checkCloudName("AWS", maxAWSName, "the load balancer "+v.c.Metadata.Name+"-api has at most 32")
	v.checkZones(path.Child("zones"), a)
	v.checkAWSNetwork(path.Child("network"), a)
	v.checkAccess(path.Child("access"), a.Access)
	v.checkTags(path.Child("tags"), a.Tags)
	v.checkBackend(path.Child("backend"), a.Backend)
	v.checkAWSCloudController(path.Child("cloudController"), a.CloudController)
	if a.ControlPlane.EtcdDisk.IOPS > 16000 {
		v.add(path.Child("controlPlane", "etcdDisk", "iops"), fmt.Sprintf("gp3 disks have at most 16000, got %d", a.ControlPlane.EtcdDisk.IOPS), "")
	}
	pools := v.distinct()
	for i, p := range a.Pools {
		name := path.Child("pools").Index(i).Child("name")
		pools.add(p.Name, name, "the pool %s")
		v.checkPoolExists(name, p.Name)
	}
}

// checkCloudName refuses a cluster name that would break a rule of the cloud half way through.
func (v *validator) checkCloudName(cloud string, most int, because string) {
	if name := v.c.Metadata.Name; len(name) > most {
		v.add(field.NewPath("metadata", "name"), fmt.Sprintf("must have at most %d characters with %s, has %d: %s", most, cloud, len(name), because), "shorten the name")
	}
}

// checkPoolExists refuses machines of a pool that there is not.
func (v *validator) checkPoolExists(path *field.Path, name string) {
	var names []string
	for _, p := range v.c.Spec.Workers {
		if p.Name == name {
			return
		}
		names = append(names, p.Name)
	}
	if name != "" {
		v.add(path, fmt.Sprintf("there is no pool %s in spec.workers", name), suggestValue(name, names))
	}
}

func (v *validator) checkZones(path *field.Path, a *AWS) {
	if len(a.Zones) > maxZones {
		v.add(path, fmt.Sprintf("need at most %d zones, got %d", maxZones, len(a.Zones)), "")
	}
	zones := v.distinct()
	for i, z := range a.Zones {
		zones.add(z, path.Index(i), "the zone %s")
		if !strings.HasPrefix(z, a.Region) || len(z) == len(a.Region) {
			v.add(path.Index(i), fmt.Sprintf("%s is not a zone of region %s", z, a.Region), "write "+a.Region+"a or the like")
		}
	}
}

// checkAWSNetwork checks that the network is either made or named, and complete.
func (v *validator) checkAWSNetwork(path *field.Path, a *AWS) {
	n := a.Network
	if n.VPCID == "" {
		for _, name := range []string{"subnets", "edgeSubnetIDs"} {
			if v.isSet(path.Child(name)) {
				v.add(path.Child(name), "is of an existing VPC", "set vpcID, or remove it")
			}
		}
		if p, ok := v.checkRange(path.Child("cidr"), n.CIDR); ok && (!p.Addr().Is4() || p.Bits() < minVPCBits || p.Bits() > maxVPCBits) {
			v.add(path.Child("cidr"), fmt.Sprintf("need an IPv4 range between /%d and /%d, got %s", minVPCBits, maxVPCBits, p), "")
		}
		return
	}
	for _, name := range []string{"cidr", "nat"} {
		if v.isSet(path.Child(name)) {
			v.add(path.Child(name), "is for a VPC that is made", "remove it, or vpcID")
		}
	}
	zones := map[string]bool{}
	for i, s := range n.Subnets {
		zones[s.Zone] = true
		v.checkHostRange(path.Child("subnets").Index(i).Child("hostCIDR"), s.HostCIDR)
	}
	for _, z := range a.Zones {
		if !zones[z] {
			v.add(path.Child("subnets"), "need one subnet in zone "+z, "")
		}
	}
	if len(n.EdgeSubnetIDs) == 0 {
		v.add(path.Child("edgeSubnetIDs"), "is required with vpcID", "name the subnets for the load balancer and the bastion")
	}
}

// checkHostRange checks a range that only this cluster's hosts take addresses from.
func (v *validator) checkHostRange(path *field.Path, text string) {
	if p, ok := v.checkRange(path, text); ok && (!p.Addr().Is4() || p.Bits() > 28) {
		v.add(path, fmt.Sprintf("need an IPv4 range of /28 or shorter, got %s", p), "")
	}
}

func (v *validator) checkAccess(path *field.Path, a CloudAccess) {
	for _, field := range []struct {
		name   string
		ranges []string
	}{{"sshFrom", a.SSHFrom}, {"apiFrom", a.APIFrom}, {"nodePortsFrom", a.NodePortsFrom}} {
		if !v.isSet(path.Child(field.name)) {
			continue // apiFrom is sshFrom then
		}
		for i, text := range field.ranges {
			v.checkRange(path.Child(field.name).Index(i), text)
		}
	}
	for i, text := range a.SSHFrom {
		if p, err := netip.ParsePrefix(text); err == nil && p.Bits() == 0 && v.isSet(path.Child("sshFrom")) {
			v.add(path.Child("sshFrom").Index(i), "SSH would be open to everybody", "name the range that you work from")
		}
	}
}

// checkTags keeps out tags that this program or the cloud owns.
func (v *validator) checkTags(path *field.Path, tags map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		for _, prefix := range []string{"clusterctl", "aws:", "kubernetes.io/cluster", "Name"} {
			if strings.HasPrefix(key, prefix) {
				v.add(path.Key(key), "is a tag that clusterctl or the cloud sets", "choose another key")
			}
		}
	}
}

// checkBackend checks the form of the URL of Pulumi's state.
func (v *validator) checkBackend(path *field.Path, text string) {
	if text == "" {
		return
	}
	for _, scheme := range []string{"file://", "s3://", "gs://", "https://"} {
		if strings.HasPrefix(text, scheme) && len(text) > len(scheme) {
			return
		}
	}
	v.add(path, fmt.Sprintf("need a URL of file, s3, gs or https, got %q", text), "such as s3://my-bucket")
}
