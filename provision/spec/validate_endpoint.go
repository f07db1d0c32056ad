package spec

import "strings"

// checkEndpoint checks the endpoint and the names for the API servers' certificates.
func (v *validator) checkEndpoint() {
	path := at("controlPlane", "endpoint")
	if text := v.c.Spec.ControlPlane.Endpoint; text != "" {
		if _, _, err := parseEndpoint(text); err != nil {
			v.add(path, err.Error(), "write a host name or IP address, with :port when it is not 6443")
		}
	}
	for i, san := range v.c.Spec.ControlPlane.CertSANs {
		if err := checkHostname(strings.TrimPrefix(san, "*.")); err != nil {
			v.add(at("controlPlane", "certSANs").Index(i), err.Error(), "")
		}
	}
}
