package spec_test

import (
	"strings"
	"testing"

	"clusterctl/provision/spec"
)

const (
	ageRecipient = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"
	sshRecipient = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHsKLqeplhpW+uObz5dvMgjz1OxfM/XXUB+VHtZ6isGN jo@desk"
)

func TestStateIsChecked(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"not a recipient":      {"  state: {ageRecipients: [" + ageRecipient + ", jo]}\n", "9: spec.state.ageRecipients[1]: is no age recipient"},
		"a private key":        {"  state: {ageRecipients: [AGE-SECRET-KEY-1QQQ]}\n", "9: spec.state.ageRecipients[0]: is no age recipient"},
		"no bucket":            {"  state: {s3: {}}\n", "9: spec.state.s3.bucket: is required"},
		"bad bucket":           {"  state: {s3: {bucket: My_Bucket}}\n", "9: spec.state.s3.bucket: is no bucket name"},
		"endpoint of no URL":   {"  state: {s3: {bucket: abc, endpoint: minio:9000}}\n", "9: spec.state.s3.endpoint: is no server URL"},
		"endpoint with a path": {"  state: {s3: {bucket: abc, endpoint: 'https://h/x'}}\n", "9: spec.state.s3.endpoint: is no server URL"},
		"credentials in it":    {"  state: {s3: {bucket: abc, endpoint: 'https://u:p@h'}}\n", "9: spec.state.s3.endpoint: is no server URL"},
		"prefix that climbs":   {"  state: {s3: {bucket: abc, prefix: a/../b}}\n", "9: spec.state.s3.prefix: must be a plain path"},
		"peer is itself":       {"  peers: [Dev]\n", "9: spec.peers[0]: is this cluster itself"},
		"peer twice":           {"  peers: [a, A]\n", "9: spec.peers[1]: is named twice"},
		"peer of no name":      {"  peers: [a/b]\n", "9: spec.peers[0]: is no cluster name"},
	} {
		got := problemsOf(t, local(c.text))
		if len(got) != 1 || !strings.HasPrefix(got[0], c.want) {
			t.Errorf("%s: %q, want one that begins with %q", name, got, c.want)
		}
		for _, line := range got {
			if strings.Contains(line, "1QQQ") {
				t.Errorf("%s: the message repeats the key: %s", name, line)
			}
		}
	}
}

func TestStateHasDefaults(t *testing.T) {
	c, err := spec.Parse("f", []byte(local("  state: {ageRecipients: ["+ageRecipient+", '"+sshRecipient+"'], s3: {bucket: abc}}\n")))
	if err != nil {
		t.Fatal(err)
	}
	if s := c.Spec.State.S3; s.Endpoint != "https://s3.amazonaws.com" || s.Prefix != "clusterctl/dev" {
		t.Errorf("defaults: %+v", *s)
	}
}
