// Package amazon is the part of AWS' own interfaces that Kubernetes' cloud controller asks, over the
// instances of a stand-in's world: EC2 and load balancing (AWS Query protocol), and the metadata service
// of instances. What it does not know it refuses as AWS would.
package amazon

import (
	"encoding/xml"
	"net/http"
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

// refusal is an error of AWS: a code that clients tell apart, and a text.
type refusal struct{ code, text string }

func (r refusal) Error() string { return r.code + ": " + r.text }

// API serves EC2 and load balancing. Requests must be signed by the instances' role, for the region.
func (c Cloud) API() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			refuse(w, refusal{"MalformedQueryString", err.Error()})
			return
		}
		answer, err := c.answer(r)
		if err != nil {
			refuse(w, err)
			return
		}
		w.Header().Set("Content-Type", "text/xml")
		_ = xml.NewEncoder(w).Encode(answer) // the client is gone when this fails
	})
}

// scope finds key, region and service of a signature (AWS Signature Version 4, "Create a signed request").
var scope = regexp.MustCompile(`^AWS4-HMAC-SHA256 Credential=([^/]+)/\d{8}/([^/]+)/([^/]+)/aws4_request, `)

func (c Cloud) answer(r *http.Request) (any, error) {
	signed := scope.FindStringSubmatch(r.Header.Get("Authorization"))
	service := "ec2"
	if !strings.HasPrefix(r.Form.Get("Version"), "2016-") { // of EC2's interface; those of load balancing are older
		service = "elasticloadbalancing"
	}
	if signed == nil || !slices.Equal(signed[1:], []string{accessKey, c.Region, service}) || r.Header.Get("X-Amz-Security-Token") != token {
		return nil, refusal{"AuthFailure", "not signed by the role of an instance for " + service + " in " + c.Region}
	}
	switch action := r.Form.Get("Action"); action {
	case "DescribeInstances":
		return c.describeInstances(values(r, "InstanceId."))
	case "DescribeAvailabilityZones":
		return c.describeZones(), nil
	case "DescribeInstanceTopology":
		return nil, refusal{"UnsupportedOperation", "no topology in " + c.Region}
	case "DescribeLoadBalancers":
		return nil, refusal{"LoadBalancerNotFound", "there is none"}
	default:
		return nil, refusal{"UnauthorizedOperation", "the stand-in does not know " + action}
	}
}

// values are those of a list in a form: InstanceId.1, InstanceId.2 and so on.
func values(r *http.Request, prefix string) []string {
	var out []string
	for key, v := range r.Form {
		if strings.HasPrefix(key, prefix) {
			out = append(out, v...)
		}
	}
	slices.Sort(out)
	return out
}

// refuse writes an error as both protocols read it: EC2's form has Errors, the other one Error.
func refuse(w http.ResponseWriter, err error) {
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
	if known.code == "LoadBalancerNotFound" {
		body.XMLName.Local = "ErrorResponse"
	}
	w.Header().Set("Content-Type", "text/xml")
	w.WriteHeader(status)
	_ = xml.NewEncoder(w).Encode(body) // the client is gone when this fails
}
