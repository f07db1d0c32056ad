// Package amazon is the part of AWS' own interfaces that Kubernetes' cloud controller asks, over the
// things of a stand-in's world: EC2 and classic load balancers (AWS Query protocol), and the metadata
// service of instances. What it does not know, and what the role of the instance that asks may not do, it
// refuses as AWS would.
package amazon

import (
	"encoding/xml"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"clusterctl/provision/cloud/standin"
)

// Cloud is one region of a world.
type Cloud struct {
	World  *standin.World
	Region string
	Zones  []string
}

// Credentials of the role that instances have. They open nothing anywhere else.
const (
	accessKey = "ASIASTANDIN000000000"
	secretKey = "stand-in"
	token     = "stand-in-session"
)

// The services, as requests are signed for them and policies name them.
const (
	ec2 = "ec2"
	elb = "elasticloadbalancing"
)

// refusal is an error of AWS: a code that clients tell apart, and a text.
type refusal struct{ code, text string }

func (r refusal) Error() string { return r.code + ": " + r.text }

// action is one thing to ask for. on is the field that names what is changed, empty for what changes
// nothing that is there.
type action struct {
	on string
	do func(things, url.Values) (any, error)
}

// actions are those of a service.
func (c Cloud) actions(service string) map[string]action {
	if service == elb {
		return map[string]action{
			"CreateLoadBalancer":                  {"", c.createBalancer},
			"DescribeLoadBalancers":               {"", c.describeBalancers},
			"DescribeLoadBalancerAttributes":      {"", c.describeAttributes},
			"ModifyLoadBalancerAttributes":        {"LoadBalancerName", c.changeBalancer},
			"ConfigureHealthCheck":                {"LoadBalancerName", c.changeBalancer},
			"RegisterInstancesWithLoadBalancer":   {"LoadBalancerName", c.register},
			"DeregisterInstancesFromLoadBalancer": {"LoadBalancerName", c.deregister},
			"DeleteLoadBalancer":                  {"LoadBalancerName", c.deleteBalancer},
		}
	}
	return map[string]action{
		"DescribeInstances":             {"", c.describeInstances},
		"DescribeInstanceTopology":      {"", c.noTopology},
		"DescribeAvailabilityZones":     {"", c.describeZones},
		"DescribeSubnets":               {"", c.describeSubnets},
		"DescribeRouteTables":           {"", c.describeRouteTables},
		"DescribeSecurityGroups":        {"", c.describeGroups},
		"CreateSecurityGroup":           {"", c.createGroup},
		"AuthorizeSecurityGroupIngress": {"GroupId", c.authorize},
		"RevokeSecurityGroupIngress":    {"GroupId", c.revoke},
		"DeleteSecurityGroup":           {"GroupId", c.deleteGroup},
	}
}

// API serves EC2 and load balancing. Requests must be signed by the instances' role, for the region.
func (c Cloud) API() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			refuse(w, ec2, refusal{"MalformedQueryString", err.Error()})
			return
		}
		service := ec2
		if !strings.HasPrefix(r.Form.Get("Version"), "2016-") { // of EC2's interface; those of load balancing are older
			service = elb
		}
		result, err := c.answer(r, service)
		if err != nil {
			refuse(w, service, err)
			return
		}
		w.Header().Set("Content-Type", "text/xml")
		_ = write(w, service, r.Form.Get("Action"), result) // the client is gone when this fails
	})
}

// scope finds key, region and service of a signature (AWS Signature Version 4, "Create a signed request").
var scope = regexp.MustCompile(`^AWS4-HMAC-SHA256 Credential=([^/]+)/\d{8}/([^/]+)/([^/]+)/aws4_request, `)

func (c Cloud) answer(r *http.Request, service string) (any, error) {
	signed := scope.FindStringSubmatch(r.Header.Get("Authorization"))
	if signed == nil || !slices.Equal(signed[1:], []string{accessKey, c.Region, service}) || r.Header.Get("X-Amz-Security-Token") != token {
		return nil, refusal{"AuthFailure", "not signed by the role of an instance for " + service + " in " + c.Region}
	}
	all, err := c.World.Things()
	if err != nil {
		return nil, err
	}
	there, name := things(all), r.Form.Get("Action")
	asked, ok := c.actions(service)[name]
	if !ok {
		return nil, refusal{"InvalidAction", "the stand-in does not know " + name}
	}
	who, err := c.asker(r)
	if err != nil {
		return nil, refusal{"AuthFailure", err.Error()}
	}
	target, err := there.target(asked.on, r.Form.Get(asked.on))
	if err != nil {
		return nil, err
	}
	if !there.may(who, service+":"+name, requestTags(r.Form), target) {
		return nil, refusal{"UnauthorizedOperation", "the role of " + who.Name + " may not do " + name + " here"}
	}
	return asked.do(there, r.Form)
}

// write puts an answer into the protocol's form: EC2's is the response itself, the other one has it as
// its result.
func write(w http.ResponseWriter, service, action string, result any) error {
	x, response := xml.NewEncoder(w), xml.StartElement{Name: xml.Name{Local: action + "Response"}}
	if service == ec2 {
		return x.EncodeElement(result, response)
	}
	if err := x.EncodeToken(response); err != nil {
		return err
	}
	if err := x.EncodeElement(result, xml.StartElement{Name: xml.Name{Local: action + "Result"}}); err != nil {
		return err
	}
	if err := x.EncodeToken(response.End()); err != nil {
		return err
	}
	return x.Close()
}

// refuse writes an error as both protocols read it: EC2's form has Errors, the other one Error.
func refuse(w http.ResponseWriter, service string, err error) {
	type problem struct {
		Type, Code, Message string
	}
	known, ok := err.(refusal)
	status := http.StatusBadRequest
	if !ok {
		known, status = refusal{"InternalError", err.Error()}, http.StatusInternalServerError
	}
	one := problem{"Sender", known.code, known.text}
	body := struct {
		XMLName xml.Name
		Errors  []problem `xml:"Errors>Error"`
		Error   problem   `xml:"Error"`
	}{XMLName: xml.Name{Local: "Response"}, Errors: []problem{one}, Error: one}
	if service == elb {
		body.XMLName.Local = "ErrorResponse"
	}
	w.Header().Set("Content-Type", "text/xml")
	w.WriteHeader(status)
	_ = xml.NewEncoder(w).Encode(body) // the client is gone when this fails
}
