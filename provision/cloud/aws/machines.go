package aws

import (
	"strconv"

	"clusterctl/provision/cloud/ask"
	"clusterctl/provision/cloud/layout"
	"clusterctl/provision/inventory"
	"clusterctl/provision/spec"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// etcdDevice is the name of etcd's disk at EC2; the host sees another.
const etcdDevice = "/dev/sdf"

// shared is what the machines have in common.
type shared struct {
	images   map[string]string // by pool
	key      *ask.Made
	profiles map[inventory.Role]*ask.Made
	targets  *ask.Made
}

// machines makes the hosts and what they need, and tells how they are reached.
func (b *builder) machines() error {
	var sh shared
	var found map[string]string
	var err error
	if sh.images, found, err = b.c.Images(b.image); err != nil {
		return err
	}
	if sh.key, err = b.Make(keyPairType, b.name, keyPairArgs{
		KeyName: pulumi.String(b.name), PublicKey: pulumi.String(b.c.LoginKey), Tags: b.tags(b.name),
	}); err != nil {
		return err
	}
	if sh.profiles, err = b.instanceProfiles(); err != nil {
		return err
	}
	if sh.targets, err = b.balancer(); err != nil {
		return err
	}
	if err := b.bastion(sh); err != nil {
		return err
	}
	public := pulumi.StringMap{}
	for _, m := range b.c.Machines {
		made, err := b.machine(sh, m)
		if err != nil {
			return err
		}
		if b.a.Access.SSH == "public" {
			public[m.Name] = made.PublicIp
		}
	}
	b.Export("public", public)
	b.Export("images", pulumi.ToStringMap(found))
	return nil
}

// machine makes one host. What would make the cloud replace the machine of its own accord is
// left as it was made: user data counts at the first boot only.
func (b *builder) machine(sh shared, m layout.Machine) (*ask.Made, error) {
	around, err := b.Host(m.Name)
	if err != nil {
		return nil, err
	}
	controlPlane := m.Role == inventory.ControlPlane
	size, group := b.a.Machine(m.Pool), b.groups[layout.Workers]
	if controlPlane {
		group = b.groups[layout.ControlPlanes]
	}
	args := instanceArgs{
		Ami: pulumi.String(sh.images[m.Pool]), InstanceType: pulumi.String(size.InstanceType), AvailabilityZone: pulumi.String(b.a.Zones[m.Zone]),
		SubnetId: b.hosts[m.Zone], PrivateIp: pulumi.String(m.Address.String()), AssociatePublicIpAddress: pulumi.Bool(b.a.Access.SSH == "public"),
		VpcSecurityGroupIds: pulumi.StringArray{group.ID()}, KeyName: sh.key.KeyName, IamInstanceProfile: sh.profiles[m.Role].Name,
		MetadataOptions: imdsv2(), RootBlockDevice: b.rootDisk(size.RootDisk, m.Name), UserData: pulumi.String(layout.CloudConfig(m, controlPlane, "")),
		Tags: b.tags(m.Name),
	}
	if controlPlane {
		args.EbsBlockDevices = []disk{b.etcdDisk(m.Name)}
	}
	made, err := b.Make(MachineType, m.Name, args,
		pulumi.Parent(around), pulumi.DependsOn(b.ready), pulumi.Protect(controlPlane && !b.c.Unprotected), pulumi.DeleteBeforeReplace(true), pulumi.IgnoreChanges([]string{"userData"}))
	if err != nil || !controlPlane {
		return made, err
	}
	_, err = b.Make(targetType, m.Name, targetArgs{TargetGroupArn: sh.targets.Arn, TargetId: made.ID()}, pulumi.Parent(around))
	return made, err
}

// imdsv2 lets nobody read the instance's credentials by tricking a server into fetching a URL
// (IMDSv1), nor from a pod's network: one hop ends at the host.
func imdsv2() *metadataOptions {
	return &metadataOptions{HttpEndpoint: pulumi.String("enabled"), HttpTokens: pulumi.String("required"), HttpPutResponseHopLimit: pulumi.Int(1)}
}

func (b *builder) rootDisk(d spec.CloudDisk, name string) *disk {
	out := &disk{VolumeType: pulumi.String("gp3"), VolumeSize: pulumi.Int(d.SizeGiB), Encrypted: pulumi.Bool(true), Tags: b.tags(name)}
	out.Iops, out.Throughput = optional(d.IOPS), optional(d.ThroughputMiB)
	return out
}

func (b *builder) etcdDisk(name string) disk {
	d := b.a.ControlPlane.EtcdDisk
	out := disk{
		DeviceName: pulumi.String(etcdDevice), VolumeType: pulumi.String("gp3"), VolumeSize: pulumi.Int(d.SizeGiB), Encrypted: pulumi.Bool(true), Tags: b.tags(name + "-etcd"),
	}
	out.Iops, out.Throughput = optional(d.IOPS), optional(d.ThroughputMiB)
	return out
}

// optional leaves a zero to the cloud.
func optional(n int) pulumi.IntInput {
	if n == 0 {
		return nil
	}
	return pulumi.Int(n)
}

// bastion is the only machine with a public address, where the spec wants one.
func (b *builder) bastion(sh shared) error {
	if b.a.Access.SSH != "bastion" {
		return nil
	}
	name := b.long("bastion")
	made, err := b.Make(MachineType, name, instanceArgs{
		Ami: pulumi.String(sh.images[""]), InstanceType: pulumi.String("t3.nano"), SubnetId: b.edges[0], KeyName: sh.key.KeyName,
		VpcSecurityGroupIds: pulumi.StringArray{b.groups[layout.Bastion].ID()}, MetadataOptions: imdsv2(),
		RootBlockDevice: b.rootDisk(spec.CloudDisk{SizeGiB: 8}, name), Tags: b.bastionTags(name),
	}, pulumi.DependsOn(b.ready))
	if err != nil {
		return err
	}
	address, err := b.Make(eipType, name, eipArgs{Domain: pulumi.String("vpc"), Instance: made.ID(), Tags: b.tags(name)})
	if err != nil {
		return err
	}
	b.Export("bastion", address.PublicIp)
	return nil
}

// bastionTags leave out the cloud controller's: the bastion is no node.
func (b *builder) bastionTags(name string) pulumi.StringMap { return b.groupTags(name) }

// instanceProfiles let the cloud controller and the CSI driver on the hosts work without a key.
func (b *builder) instanceProfiles() (map[inventory.Role]*ask.Made, error) {
	out := map[inventory.Role]*ask.Made{}
	for _, r := range []struct {
		role   inventory.Role
		part   string
		policy document
	}{{inventory.ControlPlane, "control-plane", controlPlanePolicy(b.name, b.a.Region)}, {inventory.Worker, "worker", workerPolicy()}} {
		name := b.long(r.part)
		global := b.global(r.part)
		role, err := b.Make(roleType, name, roleArgs{Name: pulumi.String(global), AssumeRolePolicy: pulumi.String(assumedByInstances().text()), Tags: b.tags(name)})
		if err != nil {
			return nil, err
		}
		policy, err := b.Make(rolePolicyType, name, rolePolicyArgs{Name: pulumi.String("clusterctl"), Role: role.Name, Policy: pulumi.String(r.policy.text())})
		if err != nil {
			return nil, err
		}
		if out[r.role], err = b.Make(instanceProfileType, name, instanceProfileArgs{Name: pulumi.String(global), Role: role.Name, Tags: b.tags(name)}, pulumi.DependsOn([]pulumi.Resource{policy})); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// global is the name of a part in IAM, which has one set of names for all regions.
func (b *builder) global(part string) string { return b.name + "-" + b.a.Region + "-" + part }

// balancer is a network load balancer over the API servers. It asks each for /readyz, so a server
// that is going down gets no new connections.
func (b *builder) balancer() (*ask.Made, error) {
	name := b.long("api")
	made, err := b.Make(loadBalancerType, name, loadBalancerArgs{
		Name: pulumi.String(name), LoadBalancerType: pulumi.String("network"), Internal: pulumi.Bool(b.a.Access.InternalAPI), Subnets: pulumi.StringArray(b.edges),
		SecurityGroups: pulumi.StringArray{b.groups[layout.Balancer].ID()}, EnableCrossZoneLoadBalancing: pulumi.Bool(true), Tags: b.tags(name),
	}, pulumi.DependsOn(b.ready))
	if err != nil {
		return nil, err
	}
	targets, err := b.Make(targetGroupType, name, targetGroupArgs{
		Name: pulumi.String(name), Port: pulumi.Int(spec.DefaultAPIPort), Protocol: pulumi.String("TCP"), TargetType: pulumi.String("instance"), VpcId: b.vpc,
		PreserveClientIp: pulumi.String("false"), DeregistrationDelay: pulumi.Int(30), Tags: b.tags(name),
		HealthCheck: &healthCheck{
			Protocol: pulumi.String("HTTPS"), Path: pulumi.String("/readyz"), Port: pulumi.String(strconv.Itoa(spec.DefaultAPIPort)), Matcher: pulumi.String("200"),
			Interval: pulumi.Int(10), HealthyThreshold: pulumi.Int(2), UnhealthyThreshold: pulumi.Int(2),
		},
	})
	if err != nil {
		return nil, err
	}
	_, err = b.Make(listenerType, name, listenerArgs{
		LoadBalancerArn: made.Arn, Port: pulumi.Int(spec.DefaultAPIPort), Protocol: pulumi.String("TCP"), Tags: b.tags(name),
		DefaultActions: []action{{Type: pulumi.String("forward"), TargetGroupArn: targets.Arn}},
	})
	b.Export("endpoint", made.DnsName)
	return targets, err
}

func portText(r layout.Rule) string {
	if r.First == r.Last {
		return strconv.Itoa(r.First)
	}
	return strconv.Itoa(r.First) + "-" + strconv.Itoa(r.Last)
}
