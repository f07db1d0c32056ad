package spec

import (
	"cmp"
	"reflect"
	"slices"
)

// Defaults of clouds that are not plain values of one field.
const (
	defaultVPC        = "10.0.0.0/16"
	defaultRootDisk   = 50
	defaultEtcdDisk   = 20
	defaultEtcdIOPS   = 3000
	defaultDebianUser = "admin" // of Debian's images for EC2
)

func (c *Cluster) setAWSDefaults(a *AWS) {
	setTagDefaults(reflect.ValueOf(a).Elem())
	a.User = cmp.Or(a.User, defaultDebianUser)
	if a.Network.VPCID == "" {
		a.Network.CIDR = cmp.Or(a.Network.CIDR, defaultVPC)
	}
	a.Access.setDefaults()
	a.CloudController.setDefaults(a.Region)
	a.ControlPlane.RootDisk.SizeGiB = cmp.Or(a.ControlPlane.RootDisk.SizeGiB, defaultRootDisk)
	a.ControlPlane.EtcdDisk.SizeGiB = cmp.Or(a.ControlPlane.EtcdDisk.SizeGiB, defaultEtcdDisk)
	a.ControlPlane.EtcdDisk.IOPS = cmp.Or(a.ControlPlane.EtcdDisk.IOPS, defaultEtcdIOPS)
	a.Workers.RootDisk.SizeGiB = cmp.Or(a.Workers.RootDisk.SizeGiB, defaultRootDisk)
	for i := range a.Pools {
		p := &a.Pools[i]
		p.InstanceType = cmp.Or(p.InstanceType, a.Workers.InstanceType)
		p.RootDisk = cmp.Or(p.RootDisk, a.Workers.RootDisk)
		p.RootDisk.SizeGiB = cmp.Or(p.RootDisk.SizeGiB, a.Workers.RootDisk.SizeGiB)
		if p.Image == (AWSImage{}) {
			p.Image = a.Image
		}
		p.Image.Owner, p.Image.Name = cmp.Or(p.Image.Owner, a.Image.Owner), cmp.Or(p.Image.Name, a.Image.Name)
	}
}

func (a *CloudAccess) setDefaults() {
	if len(a.APIFrom) == 0 {
		a.APIFrom = slices.Clone(a.SSHFrom)
	}
}
