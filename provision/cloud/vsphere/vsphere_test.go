package vsphere

import (
	"encoding/base64"
	"encoding/json"
	"errors"
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
	return cloudtest.Example(t, "vsphere", old, new)
}

// vcenter has everything that the example names, and no machine but the template.
func vcenter(token string, args map[string]any) map[string]any {
	name := args["name"].(string)
	if token == "vsphere:index/getVirtualMachine:getVirtualMachine" {
		if name != "debian-12" {
			return map[string]any{}
		}
		return map[string]any{"id": "uuid of debian-12", "guestId": "debian12_64Guest", "firmware": "efi", "scsiType": "pvscsi", "networkInterfaceTypes": []any{"vmxnet3"}}
	}
	return map[string]any{"id": "id of " + name, "resourcePoolId": "pool of " + name}
}

func run(t *testing.T, c layout.Cluster) *cloudtest.Recorder {
	t.Helper()
	return cloudtest.Run(t, Program(c), vcenter)
}

func TestExampleAsksForExactlyThis(t *testing.T) {
	golden.Check(t, "testdata/vsphere.txt", cloudtest.Text(run(t, load(t, "", "")).Asked()))
}

// TestEveryInputIsOneThatTheProviderHas: the stand-in has the schema's names apart from the program.
func TestEveryInputIsOneThatTheProviderHas(t *testing.T) {
	fields, err := standin.RealFields(t.Context(), "", "vsphere", slices.Concat(Types(), Functions()))
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range run(t, load(t, "", "")).Asked() {
		if !strings.HasPrefix(a.Type, "vsphere:") {
			continue
		}
		for _, p := range fields.Problems(a.Type, a.Inputs) {
			t.Errorf("%s %s: %s: %s", a.Type, a.Name, p.Field, p.Text)
		}
	}
	wrong := map[string]any{"numCPUs": 2.0, "disks": []any{map[string]any{"size": "50"}}}
	if got := fields.Problems(MachineType, wrong); len(got) != 2 {
		t.Errorf("a misspelt name and a text for a number: %v", got)
	}
}

func TestMachineLearnsWhoItIsFromGuestinfo(t *testing.T) {
	vm := run(t, load(t, "", "")).Find(t, MachineType, "vsphere-cp-2")
	extra := vm.Inputs["extraConfig"].(map[string]any)
	decode := func(key string) string {
		data, err := base64.StdEncoding.DecodeString(extra[key].(string))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	var metadata struct {
		Host    string `json:"local-hostname"`
		Network struct {
			Ethernets map[string]struct{ Addresses []string }
		}
	}
	if err := json.Unmarshal([]byte(decode("guestinfo.metadata")), &metadata); err != nil {
		t.Fatal(err)
	}
	if metadata.Host != "vsphere-cp-2" || metadata.Network.Ethernets["nic0"].Addresses[0] != "192.0.2.66/24" {
		t.Errorf("%+v", metadata)
	}
	if user := decode("guestinfo.userdata"); !strings.HasPrefix(user, "#cloud-config\n") || !strings.Contains(user, cloudtest.Key) || !strings.Contains(user, "etcd-disk") {
		t.Errorf("%s", user)
	}
}

func TestControlPlanesAreKeptApart(t *testing.T) {
	r := run(t, load(t, "", ""))
	if ids := r.Find(t, ruleType, "vsphere-control-planes").Inputs["virtualMachineIds"].([]any); len(ids) != 3 {
		t.Errorf("the rule is for %v", ids)
	}
	for _, a := range run(t, load(t, "# allowSharedHosts: true", "allowSharedHosts: true")).Asked() {
		if a.Type == ruleType {
			t.Error("a rule, though hosts may be shared")
		}
	}
}

func TestTemplateStaysTheOneThatWasFound(t *testing.T) {
	c := load(t, "", "")
	c.Seen = layout.Seen{Founded: true, Images: map[string]string{"debian-12": "the old one"}}
	if got := run(t, c).Find(t, MachineType, "vsphere-cp-1").Inputs["clone"].(map[string]any)["templateUuid"]; got != "the old one" {
		t.Errorf("cloned from %v", got)
	}
}

// TestTemplateThatIsGoneHindersNothing: it counts when a machine is cloned, and never again.
func TestTemplateThatIsGoneHindersNothing(t *testing.T) {
	gone := func(token string, args map[string]any) (map[string]any, error) {
		if args["name"] == "debian-12" {
			return nil, errors.New("vm 'debian-12' not found")
		}
		return vcenter(token, args), nil
	}
	c := load(t, "", "")
	r := &cloudtest.Recorder{Fails: gone}
	if err := r.Run(Program(c)); err == nil || !strings.Contains(err.Error(), "find template debian-12 in the vCenter") {
		t.Errorf("a new cluster: %v", err)
	}
	c.Seen = layout.Seen{Founded: true, Images: map[string]string{"debian-12": "the old one"}}
	r = &cloudtest.Recorder{Fails: gone}
	if err := r.Run(Program(c)); err != nil {
		t.Fatal(err)
	}
	if got := r.Find(t, MachineType, "vsphere-cp-1").Inputs["clone"].(map[string]any)["templateUuid"]; got != "the old one" {
		t.Errorf("cloned from %v", got)
	}
}

// Case 33.
func TestMachinesWithoutStateAreNeverMadeAgain(t *testing.T) {
	r := &cloudtest.Recorder{Answers: func(token string, args map[string]any) map[string]any {
		if args["name"] == "vsphere-cp-1" {
			return map[string]any{"id": "there"}
		}
		return vcenter(token, args)
	}}
	if err := r.Run(Program(load(t, "", ""))); err == nil || !strings.Contains(err.Error(), "/dc-1/vm/kubernetes/vsphere/vsphere-cp-1") {
		t.Errorf("got %v", err)
	}
}
