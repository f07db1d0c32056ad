package cloud

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"clusterctl/provision"
	"clusterctl/provision/cloud/engine"
	"clusterctl/provision/cloud/gcp"
	"clusterctl/provision/cloud/layout"
	"clusterctl/provision/event"
	"clusterctl/provision/host/hosttest"
	"clusterctl/provision/inventory"
	"clusterctl/provision/spec"

	"github.com/google/go-cmp/cmp"
)

func awsCluster(t *testing.T) known { return exampleCluster(t, "aws") }

// exampleCluster is the cluster of an example before it is made.
func exampleCluster(t *testing.T, example string) known {
	t.Helper()
	s, err := spec.Load("../../examples/" + example + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	kd, err := kindOf(s)
	if err != nil {
		t.Fatal(err)
	}
	machines, err := layout.Plan(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return known{kind: kd, cluster: layout.Cluster{Spec: s, Machines: machines}}
}

const (
	urnPrefix  = "urn:pulumi:aws::clusterctl::"
	instance   = "aws:ec2/instance:Instance"
	targetType = "aws:lb/targetGroupAttachment:TargetGroupAttachment"
)

// ofHost is a step about a thing of a host.
func ofHost(op engine.Op, typ, name string, fields ...string) engine.Step {
	return engine.Step{
		Op: op, URN: urnPrefix + hostType + "$" + typ + "::" + name, Type: typ, Name: name, Parent: urnPrefix + hostType + "::" + name, ID: "i-0" + name, Fields: fields,
	}
}

func TestChangesAreInOurWords(t *testing.T) {
	k := awsCluster(t)
	replaced := ofHost(engine.Replace, instance, "aws-default-1", "ami", "tags")
	replaced.Forcing = []string{"ami"}
	replaced.Old, replaced.New = map[string]any{"ami": "ami-1"}, map[string]any{"ami": "ami-2"}
	resized := ofHost(engine.Update, instance, "aws-cp-2", "instanceType")
	resized.Old, resized.New = map[string]any{"instanceType": "m6i.large"}, map[string]any{"instanceType": "m6i.xlarge"}
	updated := engine.Step{Op: engine.Update, URN: urnPrefix + "aws:ec2/securityGroup:SecurityGroup::aws-worker", Type: "aws:ec2/securityGroup:SecurityGroup", Name: "aws-worker", Fields: []string{"tags"}}
	got := changes(k, []engine.Step{
		{Op: engine.Create, Type: hostType, Name: "aws-cp-1", URN: urnPrefix + hostType + "::aws-cp-1"},
		ofHost(engine.Create, instance, "aws-cp-1"),
		replaced, resized, updated,
		ofHost(engine.Delete, instance, "aws-gone-1"),
		{Op: engine.Adopt, URN: urnPrefix + "aws:ec2/vpc:Vpc::aws", Type: "aws:ec2/vpc:Vpc", Name: "aws"},
		{Op: engine.Same, URN: urnPrefix + "aws:ec2/instance:Instance::aws-bastion", Type: instance, Name: "aws-bastion"},
	})
	want := []provision.Change{
		{Verb: provision.Create, Kind: "host", Name: "aws-cp-1", Detail: "10.0.4.1"},
		{Verb: provision.Replace, Kind: "host", Name: "aws-default-1", Detail: "ami ami-1 -> ami-2"},
		{Verb: provision.Replace, Kind: "host", Name: "aws-cp-2", Detail: "instanceType m6i.large -> m6i.xlarge"},
		{Verb: provision.Update, Kind: "security group", Name: "aws-worker", Detail: "tags"},
		{Verb: provision.Delete, Kind: "host", Name: "aws-gone-1", Detail: "not in the spec"},
		{Verb: provision.Adopt, Kind: "network", Name: "aws"},
		{Verb: provision.Keep, Kind: "machine", Name: "aws-bastion"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Case 36: plans that would replace an etcd machine are refused, whatever the field.
func TestHostsAreNeverReplacedOrStopped(t *testing.T) {
	k := awsCluster(t)
	for _, s := range []engine.Step{
		ofHost(engine.Replace, instance, "aws-cp-2", "ami"), ofHost(engine.Update, instance, "aws-cp-1", "instanceType"),
		ofHost(engine.Update, instance, "aws-default-1", "tags", "instanceType"),
	} {
		err := refuse(k, []engine.Step{s})
		if err == nil || !strings.Contains(err.Error(), s.Name) || !strings.Contains(err.Error(), s.Fields[len(s.Fields)-1]) {
			t.Errorf("%s %s: %v", s.Op, s.Name, err)
		}
	}
	for _, s := range []engine.Step{
		ofHost(engine.Update, instance, "aws-cp-1", "tags"), ofHost(engine.Create, instance, "aws-cp-1"), ofHost(engine.Replace, targetType, "aws-cp-1", "targetId"),
		{Op: engine.Replace, URN: urnPrefix + instance + "::aws-bastion", Type: instance, Name: "aws-bastion", Fields: []string{"ami"}},
	} {
		if err := refuse(k, []engine.Step{s}); err != nil {
			t.Errorf("%s %s: %v", s.Op, s.Name, err)
		}
	}
}

// A disk that is apart from its machine holds etcd's data all the same.
func TestDisksOfHostsAreNeverReplaced(t *testing.T) {
	k := exampleCluster(t, "gcp")
	disk := ofHost(engine.Replace, gcp.DiskType, "gcp-cp-1", "type")
	if err := refuse(k, []engine.Step{disk}); err == nil || !strings.Contains(err.Error(), "gcp-cp-1 (type)") {
		t.Errorf("got %v", err)
	}
	if disk.Op = engine.Update; refuse(k, []engine.Step{disk}) != nil {
		t.Error("a disk that grows is refused")
	}
}

func TestOnlyHostsThatTheSpecLacksAreLeftToPrune(t *testing.T) {
	k := awsCluster(t)
	gone := engine.Step{Op: engine.Delete, URN: urnPrefix + hostType + "::aws-cp-9", Type: hostType, Name: "aws-cp-9"}
	steps := []engine.Step{
		gone, ofHost(engine.Delete, instance, "aws-cp-9"), ofHost(engine.Delete, targetType, "aws-cp-9"),
		ofHost(engine.Delete, targetType, "aws-cp-1"),
		{Op: engine.Delete, URN: urnPrefix + "aws:ec2/eip:Eip::aws-bastion", Type: "aws:ec2/eip:Eip", Name: "aws-bastion"},
	}
	var names []string
	for _, s := range unnamed(k, steps) {
		names = append(names, s.Type+" "+s.Name)
	}
	if diff := cmp.Diff([]string{hostType + " aws-cp-9", instance + " aws-cp-9", targetType + " aws-cp-9"}, names); diff != "" {
		t.Error(diff)
	}
}

func TestStateTellsWhatIsPinned(t *testing.T) {
	k := awsCluster(t)
	seen := k.kind.seen(engine.State{
		Exists: true,
		Things: []engine.Thing{
			{Type: instance, Name: "aws-cp-1", ID: "i-1", Inputs: map[string]any{"privateIp": "10.0.4.1"}},
			{Type: instance, Name: "aws-bastion", ID: "i-2"},
		},
		Pending: []engine.Thing{{Type: instance, Name: "aws-cp-2"}},
		Outputs: map[string]any{"images": map[string]any{"o/n": "ami-1"}, "bastion": "203.0.113.1"},
	})
	if seen.Machines["aws-bastion"] != "i-2" || seen.Addresses["aws-cp-1"].String() != "10.0.4.1" || len(seen.Addresses) != 1 || seen.Images["o/n"] != "ami-1" || !slices.Contains(seen.Pending[instance], "aws-cp-2") || !seen.Founded {
		t.Errorf("%+v", seen)
	}
}

func TestInventoryTellsWhereMachinesAre(t *testing.T) {
	cases := map[string]struct {
		spec, name, id string
		inputs         map[string]any
		want           inventory.Place
	}{
		"AWS": {"aws", "aws-cp-2", "i-0123", map[string]any{"availabilityZone": "eu-central-1b"},
			inventory.Place{ProviderID: "aws:///eu-central-1b/i-0123", Zone: "eu-central-1b", Region: "eu-central-1"}},
		"GCP": {"gcp", "gcp-cp-2", "projects/my-project/zones/europe-west3-b/instances/gcp-cp-2", map[string]any{"zone": "europe-west3-b", "name": "gcp-cp-2"},
			inventory.Place{ProviderID: "gce://my-project/europe-west3-b/gcp-cp-2", Zone: "europe-west3-b", Region: "europe-west3"}},
		"vSphere": {"vsphere", "vsphere-cp-2", "4211ABCD-0000-1111-2222-333344445555", nil,
			inventory.Place{ProviderID: "vsphere://4211abcd-0000-1111-2222-333344445555", Zone: "cluster-1", Region: "dc-1"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			k := exampleCluster(t, c.spec)
			k.state.Things = []engine.Thing{{Type: k.kind.machine, Name: c.name, ID: c.id, Inputs: c.inputs}}
			inv := New(Options{}).inventory(k)
			for _, h := range inv.Hosts {
				want := inventory.Place{} // it is not made yet
				if h.Name == c.name {
					want = c.want
				}
				if h.Place != want {
					t.Errorf("%s: %+v, want %+v", h.Name, h.Place, want)
				}
			}
		})
	}
}

func TestHostKeysOfMachinesThatAreGoneAreForgotten(t *testing.T) {
	keys := &hostKeys{lines: []string{"10.0.4.1 ssh-ed25519 AAAA i-1", "10.0.4.2 ssh-ed25519 BBBB i-2"}}
	k := awsCluster(t)
	k.cluster.Seen.Machines = map[string]string{"aws-cp-1": "i-3", "aws-cp-2": "i-2"}
	keys.forgetOthers(k)
	if keys.has("i-1") || !keys.has("i-2") || keys.has("i-3") {
		t.Errorf("%q", keys.lines)
	}
}

// TestNoHostKeyIsLost: hosts show their keys all at once.
func TestNoHostKeyIsLost(t *testing.T) {
	key, err := hosttest.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	p, keys := New(Options{StateDir: t.TempDir()}), &hostKeys{}
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			if err := keys.add(fmt.Sprintf("10.0.4.%d", i), key.PublicKey(), fmt.Sprintf("i-%d", i), p.writeKnownHosts); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	stored, err := p.readHostKeys()
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		if !stored.has(fmt.Sprintf("i-%d", i)) {
			t.Errorf("the key of i-%d is lost", i)
		}
	}
}

// TestHostKeysThatCannotBeReadAreNotLearnedAnew: somebody else may answer now.
func TestHostKeysThatCannotBeReadAreNotLearnedAnew(t *testing.T) {
	p, k := New(Options{StateDir: t.TempDir()}), awsCluster(t)
	if err := os.MkdirAll(p.knownHostsPath(), 0o700); err != nil { // a directory: not even root reads it
		t.Fatal(err)
	}
	if _, err := p.unvisited(k, nil); err == nil || !strings.Contains(err.Error(), p.knownHostsPath()) {
		t.Errorf("preview: %v", err)
	}
	if err := p.await(t.Context(), k, inventory.Inventory{}, event.Discard); err == nil || !strings.Contains(err.Error(), p.knownHostsPath()) {
		t.Errorf("up: %v", err)
	}
}
