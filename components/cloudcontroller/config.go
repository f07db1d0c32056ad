package cloudcontroller

import (
	"clusterctl/provision/spec"
	"clusterctl/templates"
)

// override is a section ServiceOverride of the cloud controller's file (cloud-provider-aws,
// pkg/providers/v1/config/config.go). A signing name that is not set would be an empty one.
type override struct {
	Number                                           int
	Service, Region, URL, SigningRegion, SigningName string
}

// services gives the ids under which the AWS SDK knows what an endpoint of the spec serves.
func services(name string) []string {
	switch name {
	case "ec2":
		return []string{"EC2"}
	case "elasticloadbalancing":
		return []string{"Elastic Load Balancing", "Elastic Load Balancing v2"}
	case "kms":
		return []string{"KMS"}
	}
	return nil
}

// awsConfig is the cloud controller's file.
func awsConfig(c *spec.Cluster) ([]byte, error) {
	a := c.Spec.Provider.AWS
	data := struct {
		Region, Cluster string
		Overrides       []override
	}{Region: a.Region, Cluster: c.Metadata.Name}
	for _, e := range a.CloudController.Endpoints {
		for _, id := range services(e.Service) {
			data.Overrides = append(data.Overrides, override{
				Number: len(data.Overrides) + 1, Service: id, Region: a.Region, URL: e.URL, SigningRegion: e.SigningRegion, SigningName: e.Service,
			})
		}
	}
	return templates.Render("aws-cloud.conf.tmpl", data)
}
