package spec

import (
	"cmp"
	"fmt"
	"net/url"
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// AWSCloudController is Kubernetes' cloud controller for AWS, which runs on the control planes.
type AWSCloudController struct {
	// Run it. Default true.
	Enabled *bool `json:"enabled,omitempty"`
	// Where it finds AWS' services, for networks without a way to the public ones: interface endpoints of the VPC, or a partition of your own. Services that are not named are found by the region.
	Endpoints []AWSEndpoint `json:"endpoints,omitempty"`
}

// AWSEndpoint is where a service of AWS is found.
type AWSEndpoint struct {
	// The service: ec2, elasticloadbalancing (load balancers of all kinds) or kms.
	Service string `json:"service" jsonschema:"enum=ec2,enum=elasticloadbalancing,enum=kms"`
	// URL of the endpoint.
	URL string `json:"url"`
	// Region that requests are signed for. Default: the cluster's region.
	SigningRegion string `json:"signingRegion,omitempty"`
}

// CloudController is a cloud controller that the tool does not bring: by its image, or by objects that make it run.
type CloudController struct {
	// Image of the controller, such as registry.example.com/cloud-controller-manager:v1.37.0. It runs on the control planes with their network and all that a cloud controller may do in the cluster. Hosts must be able to pull it.
	Image string `json:"image,omitempty"`
	// Additional arguments of the controller in the image, without leading dashes.
	Args map[string]string `json:"args,omitempty"`
	// File with the objects that make the controller run, as YAML. A relative path is beside this file.
	Manifest string `json:"manifest,omitempty"`
}

func (c *AWSCloudController) setDefaults(region string) {
	if c.Enabled == nil {
		on := true
		c.Enabled = &on
	}
	for i := range c.Endpoints {
		c.Endpoints[i].SigningRegion = cmp.Or(c.Endpoints[i].SigningRegion, region)
	}
}

// OwnCloudController says whether the tool's own cloud controller runs on the control planes.
func (p Provider) OwnCloudController() bool {
	return p.AWS != nil && (p.AWS.CloudController.Enabled == nil || *p.AWS.CloudController.Enabled)
}

// ForeignCloudController is the cloud controller that the user brings; nil: none.
func (p Provider) ForeignCloudController() *CloudController {
	switch {
	case p.GCP != nil:
		return p.GCP.CloudController
	case p.VSphere != nil:
		return p.VSphere.CloudController
	}
	return nil
}

// CloudControlled says whether a cloud controller initialises the nodes: each is kept free of pods
// until it has.
func (p Provider) CloudControlled() bool {
	return p.OwnCloudController() || p.ForeignCloudController() != nil
}

// checkAWSCloudController checks the endpoints.
func (v *validator) checkAWSCloudController(path *field.Path, c AWSCloudController) {
	endpoints := path.Child("endpoints")
	if !*c.Enabled && v.isSet(endpoints) {
		v.add(endpoints, "is for a controller that runs", "remove it, or enabled: false")
	}
	services := v.distinct()
	for i, e := range c.Endpoints {
		services.add(e.Service, endpoints.Index(i).Child("service"), "the service %s")
		v.checkEndpointURL(endpoints.Index(i).Child("url"), e.URL)
		v.checkOneWord(endpoints.Index(i).Child("signingRegion"), e.SigningRegion)
	}
}

// checkEndpointURL checks a URL that is written into a configuration file as it is.
func (v *validator) checkEndpointURL(path *field.Path, text string) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || strings.ContainsAny(text, "\"\\\n #;") {
		v.add(path, fmt.Sprintf("need a URL of https or http, got %q", text), "such as https://ec2.example.com")
	}
}

// checkOneWord keeps out of a configuration file what would end a value there.
func (v *validator) checkOneWord(path *field.Path, text string) {
	if strings.ContainsAny(text, "\"\\\n #;") {
		v.add(path, fmt.Sprintf("need one word, got %q", text), "")
	}
}

// checkCloudController checks that the controller is named by one of the two ways.
func (v *validator) checkCloudController(p *field.Path, c *CloudController) {
	if c == nil {
		return
	}
	if (c.Image == "") == (c.Manifest == "") {
		v.add(p, "need either image or manifest", "name the image, or the file with the controller's objects")
	}
	if strings.ContainsAny(c.Image, " \t\n") || strings.HasPrefix(c.Image, "/") {
		v.add(p.Child("image"), fmt.Sprintf("is no image name, got %q", c.Image), "such as registry.example.com/cloud-controller-manager:v1.37.0")
	}
	if c.Manifest != "" && len(c.Args) > 0 {
		v.add(p.Child("args"), "is for the controller in an image", "write the arguments into the manifest")
	}
	if ext := path.Ext(c.Manifest); c.Manifest != "" && ext != ".yaml" && ext != ".yml" && ext != ".json" {
		v.add(p.Child("manifest"), fmt.Sprintf("need a file of YAML, got %q", c.Manifest), "such as cloud-controller.yaml")
	}
	v.checkArgs(p.Child("args"), CloudControllerManager, c.Args)
}

func cloudControllerOwned() []OwnedArg {
	return owned("cloud-provider", "cluster-name", "kubeconfig", "leader-elect", "master", "bind-address", "use-service-account-credentials")
}
