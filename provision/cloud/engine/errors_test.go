package engine

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestErrorsSayWhatIsWrong: the texts are those that Pulumi 3 and the clouds' plugins were seen to give.
func TestErrorsSayWhatIsWrong(t *testing.T) {
	cases := map[string]struct {
		err      string
		problems []problem
		want     string // of the type and the text
	}{
		"wrong passphrase": {err: "failed to load: error: incorrect passphrase", want: "*engine.PassphraseError: the passphrase does not fit"},
		"no passphrase":    {err: "error: passphrase must be set with PULUMI_CONFIG_PASSPHRASE", want: "*engine.PassphraseError: "},
		"no plugin": {
			err:  "code: 1\nstderr: pulumi:providers:aws aws  error: no resource plugin 'pulumi-resource-aws' found in the workspace at version v6.83.4 or on your $PATH\n",
			want: "*engine.PluginError: Pulumi has no plugin for this cloud, and did not get it: no resource plugin 'pulumi-resource-aws' found in the workspace at version v6.83.4 or on your $PATH\ninstall it: PULUMI_HOME=/cache /cache/bin/pulumi plugin install resource aws v6.83.4\n",
		},
		"plugin not fetched": {
			err: "code: 1", problems: []problem{{text: "Could not automatically download and install resource plugin 'pulumi-resource-gcp' at version v9.6.0, install the plugin using `pulumi plugin install resource gcp v9.6.0`: failed all 5 attempts"}},
			want: "*engine.PluginError: Pulumi has no plugin for this cloud, and did not get it: Could not automatically download",
		},
		"credentials ran out": {
			err: "code: 1", problems: []problem{{urn: "urn:pulumi:dev::clusterctl::aws:ec2/vpc:Vpc::dev", text: "ExpiredToken: the security token included in the request is expired"}},
			want: "*engine.CredentialsError: the cloud refuses the credentials: ExpiredToken: ",
		},
		"no credentials": {err: "stderr: error: missing google credentials: google: could not find default credentials.", want: "*engine.CredentialsError: "},
		"one thing": {
			err: "code: 1", problems: []problem{{urn: "urn:pulumi:dev::clusterctl::aws:ec2/vpc:Vpc::dev", text: "VpcLimitExceeded"}},
			want: "*engine.FailedError: make the machines: dev: VpcLimitExceeded",
		},
		"killed":       {err: "exit: signal: killed", want: "*errors.errorString: make the machines: the Pulumi CLI was killed; run the same command again"},
		"anything":     {err: "code: 1\nstdout: much\nerror: the disk is full\nmore", want: "*fmt.wrapError: make the machines: error: the disk is full"},
		"not an error": {want: "<nil>: <nil>"},
	}
	e := New(Options{Home: "/cache", Dir: "/state"})
	e.cli = &command{path: "/cache/bin/pulumi"}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var err error
			if c.err != "" {
				err = errors.New(c.err)
			}
			got := e.explain("make the machines", err, c.problems)
			if text := fmt.Sprintf("%T: %v", got, got); !strings.HasPrefix(text, c.want) {
				t.Errorf("got  %s\nwant %s", text, c.want)
			}
		})
	}
}
