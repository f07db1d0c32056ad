package gcp

import (
	"fmt"

	"clusterctl/provision/inventory"
	"clusterctl/provision/spec"
)

// Place tells where an instance is, as Google's cloud controller writes it on the node
// (cloud-provider-gcp, providers/gce/gce_instances.go: gce://PROJECT/ZONE/NAME).
func Place(s *spec.Cluster, _ string, inputs map[string]any) inventory.Place {
	g := s.Spec.Provider.GCP
	name, _ := inputs["name"].(string)
	zone, _ := inputs["zone"].(string)
	return inventory.Place{ProviderID: fmt.Sprintf("gce://%s/%s/%s", g.Project, zone, name), Zone: zone, Region: g.Region}
}
