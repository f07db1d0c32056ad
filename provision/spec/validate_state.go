package spec

import (
	"net/url"
	"regexp"
	"strings"

	"filippo.io/age"
	"filippo.io/age/agessh"
	"k8s.io/apimachinery/pkg/api/validate/content"
)

// bucketName is what S3 takes for buckets: letters, digits, dots and hyphens, 3 to 63 of them.
var bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)

// checkState checks where the state is kept.
func (v *validator) checkState() {
	state := at("state")
	for i, text := range v.c.Spec.State.AgeRecipients {
		if _, err := ParseAgeRecipient(text); err != nil {
			v.add(state.Child("ageRecipients").Index(i), "is no age recipient: "+err.Error(), "use age1... as age-keygen prints it, or a line of an SSH .pub file")
		}
	}
	s3 := v.c.Spec.State.S3
	if s3 == nil {
		return
	}
	if !bucketName.MatchString(s3.Bucket) {
		v.add(state.Child("s3", "bucket"), "is no bucket name: need 3 to 63 lower-case letters, digits, dots and hyphens", "")
	}
	if u, err := url.Parse(s3.Endpoint); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || strings.Trim(u.Path, "/") != "" || u.User != nil {
		v.add(state.Child("s3", "endpoint"), "is no server URL", "write https://HOST or https://HOST:PORT")
	}
	if strings.HasPrefix(s3.Prefix, "/") || strings.Contains(s3.Prefix, "..") || strings.Contains(s3.Prefix, "//") {
		v.add(state.Child("s3", "prefix"), "must be a plain path without a leading slash", "")
	}
}

// ParseAgeRecipient reads a recipient: age's own or an SSH public key.
func ParseAgeRecipient(text string) (age.Recipient, error) {
	if strings.HasPrefix(text, "ssh-") {
		return agessh.ParseRecipient(text)
	}
	list, err := age.ParseRecipients(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// checkPeers checks the names; the ranges of peers are compared where their specs are at hand.
func (v *validator) checkPeers() {
	seen := map[string]bool{}
	for i, name := range v.c.Spec.Peers {
		path := at("peers").Index(i)
		switch {
		case len(content.IsDNS1123Label(name)) != 0:
			v.add(path, "is no cluster name", "use the peer's metadata.name")
		case name == v.c.Metadata.Name:
			v.add(path, "is this cluster itself", "name other clusters only")
		case seen[name]:
			v.add(path, "is named twice", "remove one")
		}
		seen[name] = true
	}
}
