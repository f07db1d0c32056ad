package gcp

import (
	"strconv"

	"clusterctl/provision/cloud/ask"
	"clusterctl/provision/cloud/layout"
	"clusterctl/provision/inventory"
	"clusterctl/provision/spec"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// machines makes the bastion and the hosts, and tells how they are reached.
func (b *builder) machines() error {
	images, found, err := b.c.Images(b.image)
	if err != nil {
		return err
	}
	if b.g.Access.SSH == "bastion" {
		if err := b.bastion(images[""]); err != nil {
			return err
		}
	}
	public := pulumi.StringMap{}
	for _, m := range b.c.Machines {
		address, err := b.machine(m, images[m.Pool])
		if err != nil {
			return err
		}
		if address != nil {
			public[m.Name] = address
		}
	}
	b.Export("public", public)
	b.Export("images", pulumi.ToStringMap(found))
	return nil
}

// machine makes one host, with its public address where it has one.
func (b *builder) machine(m layout.Machine, image string) (pulumi.StringInput, error) {
	around, err := b.Host(m.Name)
	if err != nil {
		return nil, err
	}
	controlPlane, zone := m.Role == inventory.ControlPlane, b.g.Zones[m.Zone]
	card := networkInterface{Subnetwork: b.subnetwork, NetworkIp: pulumi.String(m.Address.String())}
	var public pulumi.StringInput
	if b.g.Access.SSH == "public" {
		address, err := b.address(m.Name, pulumi.Parent(around))
		if err != nil {
			return nil, err
		}
		public = address
		card.AccessConfigs = []accessConfig{{NatIp: address}}
	}
	account := b.accounts[layout.Workers]
	if controlPlane {
		account = b.accounts[layout.ControlPlanes]
	}
	args := b.instance(m.Name, zone, b.g.Machine(m.Pool), image, account)
	args.NetworkInterfaces, args.DeletionProtection = []networkInterface{card}, pulumi.Bool(false)
	if controlPlane {
		disk, err := b.etcdDisk(m.Name, zone, pulumi.Parent(around))
		if err != nil {
			return nil, err
		}
		args.AttachedDisks = []attachedDisk{{Source: disk.SelfLink, DeviceName: pulumi.String("etcd")}}
		args.Metadata["startup-script"] = pulumi.String(layout.EtcdDiskScript())
	}
	made, err := b.Make(MachineType, m.Name, args,
		pulumi.Parent(around), pulumi.DependsOn(b.ready), pulumi.Protect(controlPlane && !b.c.Unprotected), pulumi.DeleteBeforeReplace(true), pulumi.IgnoreChanges([]string{"metadata"}))
	if err == nil && controlPlane {
		b.controlPlanes[zone] = append(b.controlPlanes[zone], made.SelfLink)
	}
	return public, err
}

// instance is what all machines have in common: Shielded VM, login by our key alone, no rights at
// Google beyond those of the service account.
func (b *builder) instance(name, zone string, size spec.GCPMachine, image string, account pulumi.StringInput) instanceArgs {
	return instanceArgs{
		Name: pulumi.String(name), Zone: pulumi.String(zone), MachineType: pulumi.String(size.MachineType), Labels: b.labels(),
		BootDisk: &bootDisk{AutoDelete: pulumi.Bool(true), InitializeParams: &initializeParams{
			Image: pulumi.String(image), Size: pulumi.Int(size.RootDisk.SizeGiB), Type: pulumi.String("pd-balanced"),
		}},
		ServiceAccount:         &serviceAccount{Email: account, Scopes: pulumi.StringArray{pulumi.String("cloud-platform")}},
		ShieldedInstanceConfig: &shielded{EnableSecureBoot: pulumi.Bool(true), EnableVtpm: pulumi.Bool(true), EnableIntegrityMonitoring: pulumi.Bool(true)},
		Metadata: pulumi.StringMap{
			"ssh-keys": pulumi.String(b.g.User + ":" + b.c.LoginKey), "block-project-ssh-keys": pulumi.String("true"), "enable-oslogin": pulumi.String("FALSE"),
		},
	}
}

// etcdDisk has operations of its own where the spec pays for them.
func (b *builder) etcdDisk(host, zone string, opts ...pulumi.ResourceOption) (*ask.Made, error) {
	d, name := b.g.ControlPlane.EtcdDisk, host+"-etcd"
	args := diskArgs{Name: pulumi.String(name), Zone: pulumi.String(zone), Type: pulumi.String("pd-ssd"), Size: pulumi.Int(d.SizeGiB), Labels: b.labels()}
	if d.IOPS > 0 {
		args.Type, args.ProvisionedIops = pulumi.String("hyperdisk-balanced"), pulumi.Int(d.IOPS)
		if d.ThroughputMiB > 0 {
			args.ProvisionedThroughput = pulumi.Int(d.ThroughputMiB)
		}
	}
	return b.Make(DiskType, name, args, opts...)
}

// address is a public address that stays.
func (b *builder) address(name string, opts ...pulumi.ResourceOption) (pulumi.StringInput, error) {
	made, err := b.Make(addressType, name, addressArgs{Name: pulumi.String(name), Region: pulumi.String(b.g.Region), AddressType: pulumi.String("EXTERNAL")}, opts...)
	if err != nil {
		return nil, err
	}
	return made.Address, nil
}

func (b *builder) bastion(image string) error {
	name := b.long("bastion")
	address, err := b.address(name)
	if err != nil {
		return err
	}
	args := b.instance(name, b.g.Zones[0], spec.GCPMachine{MachineType: "e2-micro", RootDisk: spec.CloudDisk{SizeGiB: 10}}, image, b.accounts[layout.Bastion])
	args.NetworkInterfaces = []networkInterface{{Subnetwork: b.subnetwork, AccessConfigs: []accessConfig{{NatIp: address}}}}
	_, err = b.Make(MachineType, name, args, pulumi.DependsOn(b.ready), pulumi.IgnoreChanges([]string{"metadata"}))
	b.Export("bastion", address)
	return err
}

// balancer is a regional TCP load balancer over the API servers that asks each for /readyz.
func (b *builder) balancer() error {
	name := b.long("api")
	check, err := b.Make(healthCheckType, name, healthCheckArgs{
		Name: pulumi.String(name), Region: pulumi.String(b.g.Region), CheckIntervalSec: pulumi.Int(5), TimeoutSec: pulumi.Int(3),
		HealthyThreshold: pulumi.Int(2), UnhealthyThreshold: pulumi.Int(2),
		HttpsHealthCheck: &httpsCheck{Port: pulumi.Int(spec.DefaultAPIPort), RequestPath: pulumi.String("/readyz")},
	})
	if err != nil {
		return err
	}
	scheme := "EXTERNAL"
	if b.g.Access.InternalAPI {
		scheme = "INTERNAL"
	}
	service := backendServiceArgs{
		Name: pulumi.String(name), Region: pulumi.String(b.g.Region), Protocol: pulumi.String("TCP"), LoadBalancingScheme: pulumi.String(scheme),
		HealthChecks: check.SelfLink, ConnectionDrainingTimeoutSec: pulumi.Int(30),
	}
	for _, zone := range b.g.Zones {
		if len(b.controlPlanes[zone]) == 0 {
			continue
		}
		part := b.long("cp-" + zone)
		group, err := b.Make(instanceGroupType, part, instanceGroupArgs{
			Name: pulumi.String(part), Zone: pulumi.String(zone), Network: b.network, Instances: pulumi.StringArray(b.controlPlanes[zone]),
		})
		if err != nil {
			return err
		}
		service.Backends = append(service.Backends, backend{Group: group.SelfLink, BalancingMode: pulumi.String("CONNECTION")})
	}
	targets, err := b.Make(backendServiceType, name, service)
	if err != nil {
		return err
	}
	return b.door(name, scheme, targets)
}

// door is where the load balancer listens. Its address is made apart, so that it outlives changes.
func (b *builder) door(name, scheme string, targets *ask.Made) error {
	where := addressArgs{Name: pulumi.String(name), Region: pulumi.String(b.g.Region), AddressType: pulumi.String(scheme)}
	args := forwardingRuleArgs{
		Name: pulumi.String(name), Region: pulumi.String(b.g.Region), LoadBalancingScheme: pulumi.String(scheme), IpProtocol: pulumi.String("TCP"),
		Ports: pulumi.StringArray{pulumi.String(strconv.Itoa(spec.DefaultAPIPort))}, BackendService: targets.SelfLink, Labels: b.labels(),
	}
	if scheme == "INTERNAL" {
		where.Subnetwork, args.Network, args.Subnetwork = b.subnetwork, b.network, b.subnetwork
	}
	address, err := b.Make(addressType, name, where)
	if err != nil {
		return err
	}
	args.IpAddress = address.Address
	_, err = b.Make(forwardingRuleType, name, args)
	b.Export("endpoint", address.Address)
	return err
}
