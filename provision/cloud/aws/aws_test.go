package aws

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"clusterctl/e2e/golden"
	"clusterctl/provision/cloud/cloudtest"
	"clusterctl/provision/cloud/layout"
	"clusterctl/provision/cloud/standin"
	"clusterctl/provision/inventory"
)

// parse makes the cluster of a spec; more is merged below provider.aws.
func parse(t *testing.T, more string) layout.Cluster {
	t.Helper()
	return cloudtest.Cluster(t, `apiVersion: clusterctl/v1alpha1
kind: Cluster
metadata: {name: dev}
spec:
  kubernetes: {version: v1.37.2}
  provider:
    aws:
      region: eu-central-1
      zones: [eu-central-1a, eu-central-1b]
`+more+`
  controlPlane: {replicas: 3}
  workers: [{name: default, replicas: 2}]
`)
}

// empty is an account with nothing of the cluster in it.
func empty(token string, _ map[string]any) map[string]any {
	if token == "aws:ec2/getAmi:getAmi" {
		return map[string]any{"id": "ami-00000000000000001"}
	}
	return map[string]any{"id": "found", "ids": []any{}, "allocationIds": []any{}}
}

func run(t *testing.T, c layout.Cluster) *cloudtest.Recorder {
	t.Helper()
	return cloudtest.Run(t, Program(c), empty)
}

const bastion = "      access: {sshFrom: [198.51.100.0/24]}"

func TestExampleAsksForExactlyThis(t *testing.T) {
	golden.Check(t, "testdata/aws.txt", cloudtest.Text(run(t, cloudtest.Example(t, "aws", "", "")).Asked()))
}

// TestEveryInputIsOneThatTheProviderHas compares with the SDK's own source.
func TestEveryInputIsOneThatTheProviderHas(t *testing.T) {
	asked := run(t, parse(t, bastion)).Asked()
	fields, err := standin.RealFields(t.Context(), "../standin/sdk", "aws", slices.Concat(Types(), Functions()))
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range asked {
		if !strings.HasPrefix(a.Type, "aws:") {
			continue
		}
		for _, p := range fields.Problems(a.Type, a.Inputs) {
			t.Errorf("%s %s: %s: %s", a.Type, a.Name, p.Field, p.Text)
		}
	}
	wrong := map[string]any{"amii": "ami-1", "rootBlockDevice": map[string]any{"volumeSize": "20"}}
	if got := fields.Problems(MachineType, wrong); len(got) != 2 {
		t.Errorf("a misspelt name and a text for a number: %v", got)
	}
	question := map[string]any{"owners": []any{"1"}, "mostRecnt": true, "filters": []any{map[string]any{"name": "state", "values": "available"}}}
	if got := fields.Problems(imageFunction, question); len(got) != 2 {
		t.Errorf("a misspelt argument and a text for a list: %v", got)
	}
}

func TestInstancesAreHardened(t *testing.T) {
	r := run(t, parse(t, bastion))
	for _, a := range r.Asked() {
		if a.Type != MachineType {
			continue
		}
		if imds := a.Inputs["metadataOptions"].(map[string]any); imds["httpTokens"] != "required" || imds["httpPutResponseHopLimit"] != 1.0 {
			t.Errorf("%s: metadata service %v", a.Name, imds)
		}
		if disk := a.Inputs["rootBlockDevice"].(map[string]any); disk["encrypted"] != true || disk["volumeType"] != "gp3" {
			t.Errorf("%s: root disk %v", a.Name, disk)
		}
	}
	cp := r.Find(t, MachineType, "dev-cp-1")
	disks := cp.Inputs["ebsBlockDevices"].([]any)
	if disk := disks[0].(map[string]any); len(disks) != 1 || disk["encrypted"] != true || disk["iops"] != 3000.0 || disk["volumeSize"] != 20.0 {
		t.Errorf("etcd's disk: %v", disks)
	}
	if w := r.Find(t, MachineType, "dev-default-1"); w.Inputs["ebsBlockDevices"] != nil || w.Inputs["associatePublicIpAddress"] != false {
		t.Errorf("worker: %v", w.Inputs)
	}
}

// TestExistingNetworkIsOnlyUsed: nothing of it is in the state, so nothing can delete it.
func TestExistingNetworkIsOnlyUsed(t *testing.T) {
	r := run(t, parse(t, bastion+`
      network:
        vpcID: vpc-0123
        subnets:
          - {id: subnet-0a, zone: eu-central-1a, hostCIDR: 10.20.4.0/24}
          - {id: subnet-0b, zone: eu-central-1b, hostCIDR: 10.20.5.0/24}
        edgeSubnetIDs: [subnet-0e, subnet-0f]`))
	for _, a := range r.Asked() {
		switch a.Type {
		case "aws:ec2/vpc:Vpc", "aws:ec2/subnet:Subnet", "aws:ec2/internetGateway:InternetGateway", "aws:ec2/natGateway:NatGateway", "aws:ec2/routeTable:RouteTable", "aws:ec2/route:Route":
			t.Errorf("asks for %s %s", a.Type, a.Name)
		}
	}
	if cp := r.Find(t, MachineType, "dev-cp-2"); cp.Inputs["subnetId"] != "subnet-0b" || cp.Inputs["privateIp"] != "10.20.5.1" {
		t.Errorf("dev-cp-2 in %v at %v", cp.Inputs["subnetId"], cp.Inputs["privateIp"])
	}
}

func TestWaysOut(t *testing.T) {
	count := func(r *cloudtest.Recorder, typ string) int {
		return len(slices.DeleteFunc(r.Asked(), func(a cloudtest.Asked) bool { return a.Type != typ }))
	}
	for nat, want := range map[string]int{"perZone": 2, "single": 1, "none": 0} {
		r := run(t, parse(t, bastion+"\n      network: {nat: "+nat+"}"))
		if got := count(r, "aws:ec2/natGateway:NatGateway"); got != want {
			t.Errorf("nat %s: %d gateways", nat, got)
		}
		if got := count(r, "aws:ec2/route:Route"); got != 1+map[bool]int{true: 2}[want > 0] {
			t.Errorf("nat %s: %d routes", nat, got)
		}
	}
	public := run(t, parse(t, "      access: {ssh: public, sshFrom: [198.51.100.0/24]}"))
	if count(public, "aws:ec2/natGateway:NatGateway") != 0 || public.Find(t, MachineType, "dev-cp-1").Inputs["associatePublicIpAddress"] != true {
		t.Error("hosts with public addresses have a NAT gateway, or no public address")
	}
	for _, a := range public.Asked() {
		if a.Name == "dev-bastion" {
			t.Errorf("a bastion beside public addresses: %s", a.Type)
		}
	}
}

// Case 36.
func TestImageStaysTheOneThatWasFound(t *testing.T) {
	c := parse(t, bastion)
	c.Seen = layout.Seen{Founded: true, Images: map[string]string{"136693071363/debian-12-amd64-*": "ami-0000000000000000a"}}
	for _, name := range []string{"dev-cp-1", "dev-default-2"} {
		if a := run(t, c).Find(t, MachineType, name); a.Inputs["ami"] != "ami-0000000000000000a" {
			t.Errorf("%s has image %v", name, a.Inputs["ami"])
		}
	}
	fixed := run(t, parse(t, bastion+"\n      image: {id: ami-0000000000000000c}"))
	if a := fixed.Find(t, MachineType, "dev-cp-1"); a.Inputs["ami"] != "ami-0000000000000000c" {
		t.Errorf("the spec's own image is not taken: %v", a.Inputs["ami"])
	}
}

// Case 33: missing state with existing tagged machines.
func TestMachinesWithoutStateAreNeverMadeAgain(t *testing.T) {
	r := &cloudtest.Recorder{Answers: func(token string, args map[string]any) map[string]any {
		if token == "aws:ec2/getInstances:getInstances" {
			return map[string]any{"id": "found", "ids": []any{"i-0a", "i-0b"}}
		}
		return empty(token, args)
	}}
	err := r.Run(Program(parse(t, bastion)))
	if err == nil || !strings.Contains(err.Error(), "i-0a, i-0b") || !strings.Contains(err.Error(), "restore the state directory") {
		t.Errorf("got %v", err)
	}
	if asked := r.Asked(); len(asked) > 1 { // the provider
		t.Errorf("asked for %v", asked)
	}
}

// TestPoliciesNameNoMoreThanTheyMust: what exists may only be changed with the cluster's tag.
func TestPoliciesNameNoMoreThanTheyMust(t *testing.T) {
	for role, d := range map[inventory.Role]document{inventory.ControlPlane: controlPlanePolicy("dev", "eu-central-1"), inventory.Worker: workerPolicy()} {
		for _, s := range d.Statement {
			for _, action := range s.Action {
				_, verb, _ := strings.Cut(action, ":")
				if strings.Contains(action, "*") {
					t.Errorf("%s: %s", role, action)
				}
				if !strings.HasPrefix(verb, "Describe") && s.Condition == nil && s.Resource == "*" {
					t.Errorf("%s: %s without a condition", role, action)
				}
			}
		}
	}
}

// TestLeftoversAreWhatNobodyWouldDelete: what carries our own tag too and is in the state is not left,
// and what is told of and there no more is not either.
func TestLeftoversAreWhatNobodyWouldDelete(t *testing.T) {
	const arn = "arn:aws:elasticloadbalancing:eu-central-1:123456789012:loadbalancer/"
	answer := func(token string, args map[string]any) (map[string]any, error) {
		switch token {
		case "aws:ebs/getEbsVolumes:getEbsVolumes":
			if _, ours := args["tags"].(map[string]any)[clusterTag]; ours {
				return map[string]any{"ids": []any{"vol-ours"}}, nil
			}
			return map[string]any{"ids": []any{"vol-ours", "vol-1"}}, nil
		case "aws:ec2/getVpcs:getVpcs":
			return map[string]any{"ids": []any{"vpc-ours"}}, nil
		case "aws:ec2/getSubnets:getSubnets":
			return map[string]any{"ids": []any{"subnet-stray"}}, nil
		case taggedFunction:
			if got := fmt.Sprint(args["tagFilters"]); got != "[map[key:kubernetes.io/cluster/dev values:[owned]]]" {
				return nil, fmt.Errorf("asked for %s", got)
			}
			return map[string]any{"resourceTagMappingLists": []any{
				map[string]any{"resourceArn": arn + "a1"}, map[string]any{"resourceArn": arn + "a2"}, map[string]any{"resourceArn": arn + "net/dev-api/50dc6c495c0c9188"},
			}}, nil
		case classicFunction:
			if args["name"] == "a2" {
				return nil, errors.New("LoadBalancerNotFound: There is no ACTIVE Load Balancer named 'a2'")
			}
			return map[string]any{"name": args["name"]}, nil
		}
		return map[string]any{}, nil
	}
	left := func(c layout.Cluster) (found []string) {
		if err := (&cloudtest.Recorder{Fails: answer}).Run(Leftovers(c, &found)); err != nil {
			t.Error(err)
		}
		return found
	}
	c := parse(t, bastion)
	theirs := []string{"volume vol-1", "load balancer a1"}
	c.Seen = layout.Seen{Founded: true, IDs: []string{"vpc-ours"}, Pending: map[string][]string{subnetType: {"dev-a"}}} // it is looked for
	if got := left(c); !slices.Equal(got, theirs) {
		t.Errorf("left are %q, want %q", got, theirs)
	}
	c.Seen.Pending = nil
	if got, want := left(c), append(theirs, "subnet subnet-stray (made by clusterctl, and not in its state)"); !slices.Equal(got, want) {
		t.Errorf("left are %q, want %q", got, want)
	}
}
