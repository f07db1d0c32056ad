package aws

import (
	"fmt"

	"clusterctl/provision/inventory"
	"clusterctl/provision/spec"
)

// Place tells where an instance is, as Kubernetes' cloud controller writes it on the node
// (cloud-provider-aws, pkg/providers/v1/instances.go, KubernetesInstanceID).
func Place(s *spec.Cluster, id string, inputs map[string]any) inventory.Place {
	zone, _ := inputs["availabilityZone"].(string)
	return inventory.Place{ProviderID: fmt.Sprintf("aws:///%s/%s", zone, id), Zone: zone, Region: s.Spec.Provider.AWS.Region}
}
