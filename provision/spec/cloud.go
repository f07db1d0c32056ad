package spec

// CloudSettings is what all providers share that make hosts in a cloud.
type CloudSettings struct {
	// Login user of the hosts' image; it must be root or use sudo without a password. Default: that of the default image.
	User string `json:"user,omitempty"`
	// SSH key that may log in: a private key file, or the public half of a key that the agent holds. ~ is expanded. Default: a key that is made in the state directory. Only the public half reaches the cloud.
	KeyPath string `json:"keyPath,omitempty"`
	// Where Pulumi keeps what it made: file://, s3:// or gs:// URL, or https:// of a Pulumi service. Default: the state directory.
	Backend string `json:"backend,omitempty"`
	// Tags (GCP: labels) on everything that is made, besides those that say whose it is.
	Tags map[string]string `json:"tags,omitempty"`
}

// CloudAccess says who reaches the hosts and the API from outside.
type CloudAccess struct {
	// How hosts are reached over SSH: through a bastion that is made, at public addresses of their own, or at their private addresses (VPN, peering). Default bastion.
	SSH string `json:"ssh,omitempty" jsonschema:"enum=bastion,enum=public,enum=private,default=bastion"`
	// Address ranges that SSH is allowed from.
	SSHFrom []string `json:"sshFrom"`
	// Address ranges that the API's load balancer takes connections from. Default: sshFrom.
	APIFrom []string `json:"apiFrom,omitempty"`
	// Address ranges that node ports (30000-32767) are open to. Default: none.
	NodePortsFrom []string `json:"nodePortsFrom,omitempty"`
	// The API's load balancer has addresses of the network only.
	InternalAPI bool `json:"internalAPI,omitempty"`
}

// CloudDisk is a disk of a host.
type CloudDisk struct {
	// Size in GiB.
	SizeGiB int `json:"sizeGiB,omitempty" jsonschema:"minimum=8,maximum=16384"`
	// Operations per second that are paid for. Default: what the cloud gives.
	IOPS int `json:"iops,omitempty" jsonschema:"minimum=100,maximum=160000"`
	// Throughput in MiB/s that is paid for. Default: what the cloud gives.
	ThroughputMiB int `json:"throughputMiB,omitempty" jsonschema:"minimum=1,maximum=2000"`
}

// AWS makes hosts as EC2 instances.
type AWS struct {
	// Region, such as eu-central-1.
	Region string `json:"region" jsonschema:"pattern=^[a-z]{2}(-[a-z]+)+-[0-9]$"`
	// Availability zones that hosts are spread over: the first host of a kind is in the first zone, and so on, round and round.
	Zones []string `json:"zones"`
	// The network: one that is made, or an existing one.
	Network AWSNetwork `json:"network,omitempty"`
	// Who reaches the hosts and the API from outside.
	Access CloudAccess `json:"access"`
	// The hosts' image.
	Image AWSImage `json:"image,omitempty"`
	// Machines of the control planes.
	ControlPlane AWSControlPlane `json:"controlPlane,omitempty"`
	// Machines of workers.
	Workers AWSMachine `json:"workers,omitempty"`
	// Worker pools with machines of their own.
	Pools []AWSPool `json:"pools,omitempty"`
	// Kubernetes' cloud controller for AWS: nodes get their zone and instance type, Services of type LoadBalancer a load balancer, and nodes go with their instances.
	CloudController AWSCloudController `json:"cloudController,omitempty"`

	CloudSettings `json:",inline"`
}

// AWSNetwork is the VPC and its subnets.
type AWSNetwork struct {
	// Range of the VPC that is made, between /16 and /20. Default 10.0.0.0/16.
	CIDR string `json:"cidr,omitempty"`
	// How hosts without public addresses reach the internet: a NAT gateway in each zone, a single one, or not at all. Default perZone.
	NAT string `json:"nat,omitempty" jsonschema:"enum=perZone,enum=single,enum=none,default=perZone"`
	// Id of an existing VPC. It is used, and never changed or deleted.
	VPCID string `json:"vpcID,omitempty"`
	// Subnets for hosts in the existing VPC, one for each zone.
	Subnets []AWSSubnet `json:"subnets,omitempty"`
	// Ids of subnets for the load balancer and the bastion in the existing VPC, one for each zone.
	EdgeSubnetIDs []string `json:"edgeSubnetIDs,omitempty"`
}

// AWSSubnet is an existing subnet.
type AWSSubnet struct {
	// Id of the subnet.
	ID string `json:"id" jsonschema:"pattern=^subnet-[0-9a-f]+$"`
	// Availability zone that it is in.
	Zone string `json:"zone"`
	// The part of the subnet that hosts take their addresses from; it is reserved for them.
	HostCIDR string `json:"hostCIDR"`
}

// AWSImage names a machine image: by its id, or the newest that fits when the cluster is made. What was found then stays the cluster's image.
type AWSImage struct {
	// Id of the image.
	ID string `json:"id,omitempty" jsonschema:"pattern=^ami-[0-9a-f]+$"`
	// Account that owns the image. Default 136693071363, Debian's.
	Owner string `json:"owner,omitempty" jsonschema:"default=136693071363"`
	// Name of the image; * stands for anything. Default debian-12-amd64-*.
	Name string `json:"name,omitempty" jsonschema:"default=debian-12-amd64-*"`
}

// AWSMachine is an instance's size.
type AWSMachine struct {
	// Instance type. Default m6i.large.
	InstanceType string `json:"instanceType,omitempty" jsonschema:"default=m6i.large"`
	// The root disk, gp3 and encrypted. Default 50 GiB.
	RootDisk CloudDisk `json:"rootDisk,omitempty"`
}

// AWSControlPlane is a control plane's instance.
type AWSControlPlane struct {
	AWSMachine `json:",inline"`
	// The disk that only etcd writes to, gp3 and encrypted. Default 20 GiB with 3000 IOPS.
	EtcdDisk CloudDisk `json:"etcdDisk,omitempty"`
}

// AWSPool is the machines of one worker pool.
type AWSPool struct {
	// Name of the pool, as in spec.workers.
	Name string `json:"name"`
	// The image of the pool. Default: the provider's.
	Image AWSImage `json:"image,omitempty"`

	AWSMachine `json:",inline"`
}

// Cloud gives the settings of the provider that makes machines in a cloud; nil for the others.
func (p *Provider) Cloud() *CloudSettings {
	switch {
	case p.AWS != nil:
		return &p.AWS.CloudSettings
	case p.GCP != nil:
		return &p.GCP.CloudSettings
	case p.VSphere != nil:
		return &p.VSphere.CloudSettings
	}
	return nil
}

// MakesHosts says whether the provider makes and deletes the hosts. Else they are the user's.
func (p *Provider) MakesHosts() bool { return p.SSH == nil }

// Machine gives the size of a host of a pool; a control plane's for the empty name.
func (a *AWS) Machine(pool string) AWSMachine {
	if pool == "" {
		return a.ControlPlane.AWSMachine
	}
	for _, p := range a.Pools {
		if p.Name == pool {
			return p.AWSMachine
		}
	}
	return a.Workers
}

// PoolImage gives the image of a host of a pool; the provider's for control planes.
func (a *AWS) PoolImage(pool string) AWSImage {
	for _, p := range a.Pools {
		if pool != "" && p.Name == pool {
			return p.Image
		}
	}
	return a.Image
}
