package cloudcontroller

import (
	"clusterctl/components/resource"
	"clusterctl/provision/spec"
)

// Uninitialised is the key of the taint that a node has until a cloud controller has seen it
// (k8s.io/cloud-provider, api/well_known_taints.go).
const Uninitialised = "node.cloudprovider.kubernetes.io/uninitialized"

// Objects gives what the spec's cloud controller needs in the API: access of the unit, all of one in an
// image, or those of the spec's file, which were read before.
func Objects(c *spec.Cluster, file []resource.Resource) ([]resource.Resource, error) {
	foreign := c.Spec.Provider.ForeignCloudController()
	switch {
	case c.Spec.Provider.OwnCloudController():
		return resource.Manifests(awsAccess()...)
	case foreign == nil:
		return nil, nil
	case foreign.Manifest != "":
		return file, nil
	}
	return resource.Manifests(imageObjects(c, foreign)...)
}
