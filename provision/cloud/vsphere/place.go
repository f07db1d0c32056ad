package vsphere

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"

	"clusterctl/provision/inventory"
	"clusterctl/provision/spec"
)

// Place tells where a machine is: the provider's id of a machine is its UUID, which vSphere's cloud
// controller puts behind vsphere:// in small letters. A vCenter has no zones; what keeps a failure to
// itself is its cluster, within a datacenter. A name that is no label's value is left out.
func Place(s *spec.Cluster, id string, _ map[string]any) inventory.Place {
	v := s.Spec.Provider.VSphere
	return inventory.Place{ProviderID: "vsphere://" + strings.ToLower(id), Zone: labelValue(v.Cluster), Region: labelValue(v.Datacenter)}
}

func labelValue(name string) string {
	if len(content.IsLabelValue(name)) > 0 {
		return ""
	}
	return name
}
