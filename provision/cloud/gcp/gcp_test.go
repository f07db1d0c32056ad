package gcp

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"clusterctl/provision/cloud/cloudtest"
	"clusterctl/provision/cloud/layout"
	"clusterctl/provision/cloud/standin"
	"clusterctl/provision/spec"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

func load(t *testing.T, old, new string) layout.Cluster {
	t.Helper()
	text, err := os.ReadFile("../../../examples/gcp.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(text), old) != 1 && old != "" {
		t.Fatalf("the example has %q %d times, need it once", old, strings.Count(string(text), old))
	}
	s, err := spec.Parse("gcp.yaml", []byte(strings.Replace(string(text), old, new, 1)))
	if err != nil {
		t.Fatal(err)
	}
	machines, err := layout.Plan(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return layout.Cluster{Spec: s, Machines: machines, LoginKey: cloudtest.Key}
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
	r := &cloudtest.Recorder{Answers: empty}
	if err := r.Run(Program(c)); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestExampleAsksForExactlyThis(t *testing.T) {
	got := cloudtest.Text(run(t, load(t, "", "")).Asked())
	path := filepath.Join("testdata", "gcp.txt")
	if *update {
		if err := errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile(path, []byte(got), 0o644)); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-update writes it):\n%s", path, diff)
	}
}

// TestEveryInputIsOneThatTheProviderHas compares with the SDK's own source.
func TestEveryInputIsOneThatTheProviderHas(t *testing.T) {
	root, err := standin.SDK(t.Context(), "../standin/sdk", "github.com/pulumi/pulumi-gcp/sdk/v9")
	if err != nil {
		t.Fatal(err)
	}
	fields, err := standin.FieldsOfSDK(filepath.Join(root, "go", "gcp"), Types())
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
