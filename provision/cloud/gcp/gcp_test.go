package gcp

import (
	"slices"
	"strings"
	"testing"

	"clusterctl/e2e/golden"
	"clusterctl/provision/cloud/cloudtest"
	"clusterctl/provision/cloud/layout"
	"clusterctl/provision/cloud/standin"
)

func load(t *testing.T, old, new string) layout.Cluster {
	t.Helper()
	return cloudtest.Example(t, "gcp", old, new)
}

// empty is a project with nothing of the cluster in it.
func empty(token string, _ map[string]any) map[string]any {
	if token == "gcp:compute/getImage:getImage" {
		return map[string]any{"name": "debian-12-bookworm-v1"}
	}
	return map[string]any{}
}

func run(t *testing.T, c layout.Cluster) *cloudtest.Recorder {
	t.Helper()
	return cloudtest.Run(t, Program(c), empty)
}

func TestExampleAsksForExactlyThis(t *testing.T) {
	golden.Check(t, "testdata/gcp.txt", cloudtest.Text(run(t, load(t, "", "")).Asked()))
}

// TestEveryInputIsOneThatTheProviderHas compares with the SDK's own source.
func TestEveryInputIsOneThatTheProviderHas(t *testing.T) {
	fields, err := standin.RealFields(t.Context(), "../standin/sdk", "gcp", slices.Concat(Types(), Functions()))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []layout.Cluster{
		load(t, "", ""), load(t, "# internalAPI: true", "internalAPI: true"), load(t, "ssh: bastion", "ssh: public"),
		load(t, "etcdDisk: {sizeGiB: 20}", "etcdDisk: {sizeGiB: 20, iops: 3000, throughputMiB: 200}"),
	} {
		for _, a := range run(t, c).Asked() {
			if !strings.HasPrefix(a.Type, "gcp:") {
				continue
			}
			for _, p := range fields.Problems(a.Type, a.Inputs) {
				t.Errorf("%s %s: %s: %s", a.Type, a.Name, p.Field, p.Text)
			}
		}
	}
}

func TestInstancesAreShieldedAndHaveFewRights(t *testing.T) {
	r := run(t, load(t, "", ""))
	for _, a := range r.Asked() {
		switch a.Type {
		case MachineType:
			shield, meta := a.Inputs["shieldedInstanceConfig"].(map[string]any), a.Inputs["metadata"].(map[string]any)
			if shield["enableSecureBoot"] != true || shield["enableVtpm"] != true || meta["block-project-ssh-keys"] != "true" {
				t.Errorf("%s: %v %v", a.Name, shield, meta)
			}
			if _, script := meta["startup-script"]; script != strings.HasPrefix(a.Name, "gcp-cp-") {
				t.Errorf("%s: startup script %v", a.Name, script)
			}
		case memberType:
			if role := a.Inputs["role"].(string); !slices.Contains(roles(), role) || !strings.HasSuffix(a.Inputs["member"].(string), "email of gcp-cp") {
				t.Errorf("%s: %v", a.Name, a.Inputs)
			}
		}
	}
}

func TestExistingNetworkIsOnlyUsed(t *testing.T) {
	c := load(t, "        cidr: 10.0.0.0/20\n        # Cloud NAT; none: hosts reach nothing outside, and need nothing there.\n        nat: auto\n",
		"        name: shared\n        subnetwork: shared-1\n        hostCIDR: 10.20.4.0/24\n")
	for _, a := range run(t, c).Asked() {
		if slices.Contains([]string{networkType, subnetworkType, routerType, routerNatType}, a.Type) {
			t.Errorf("asks for %s %s", a.Type, a.Name)
		}
	}
}

// Case 5h: every name that is made obeys Compute Engine's rule, with our longest suffix.
func TestNamesObeyTheRuleWithTheLongestClusterName(t *testing.T) {
	c := load(t, "name: gcp\n", "name: a234567890123456789012b\n")
	for _, a := range run(t, c).Asked() {
		name, _ := a.Inputs["name"].(string)
		if id, ok := a.Inputs["accountId"].(string); ok && len(id) > 30 {
			t.Errorf("service account %s has %d characters", id, len(id))
		}
		if len(name) > 63 || strings.ToLower(name) != name || strings.ContainsAny(name, "_./ ") {
			t.Errorf("%s %q", a.Type, name)
		}
	}
}

// Case 33.
func TestMachinesWithoutStateAreNeverMadeAgain(t *testing.T) {
	r := &cloudtest.Recorder{Answers: func(token string, args map[string]any) map[string]any {
		if token == "gcp:compute/getInstance:getInstance" && args["name"] == "gcp-cp-2" {
			return map[string]any{"selfLink": "there"}
		}
		return empty(token, args)
	}}
	err := r.Run(Program(load(t, "", "")))
	if err == nil || !strings.Contains(err.Error(), "projects/my-project/zones/europe-west3-b/instances/gcp-cp-2") {
		t.Errorf("got %v", err)
	}
}
