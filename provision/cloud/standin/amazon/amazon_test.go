package amazon

import (
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"clusterctl/provision/cloud/standin"
)

// cloud is one with a single instance, whose address is this machine's.
func cloud(t *testing.T) Cloud {
	t.Helper()
	w := &standin.World{Dir: t.TempDir()}
	for _, th := range []standin.Thing{
		{ID: "i-1", Type: machineType, Name: "a", Inputs: map[string]any{
			"privateIp": "127.0.0.1", "instanceType": "m6i.large", "availabilityZone": "eu-central-1b", "tags": map[string]any{"Name": "a"},
			"iamInstanceProfile": "profile", "vpcSecurityGroupIds": []any{"sg-1"}}},
		{ID: "sg-1", Type: groupType, Name: "hosts", Inputs: map[string]any{"name": "hosts", "vpcId": "vpc-1", "tags": map[string]any{"ours": "yes"}}},
		{ID: "profile", Type: profileType, Inputs: map[string]any{"name": "profile", "role": "role"}},
		{ID: "policy", Type: policyType, Inputs: map[string]any{"role": "role", "policy": policy}},
	} {
		if err := w.Put(th); err != nil {
			t.Fatal(err)
		}
	}
	return Cloud{World: w, Region: "eu-central-1", Zones: []string{"eu-central-1a", "eu-central-1b"}}
}

// policy lets the role look, make what has its tag, and open groups that are ours.
const policy = `{"Statement": [
	{"Resource": "*", "Action": ["ec2:DescribeInstances", "ec2:DescribeAvailabilityZones", "ec2:DescribeInstanceTopology", "ec2:DescribeSecurityGroups",
		"elasticloadbalancing:DescribeLoadBalancers"]},
	{"Resource": "*", "Action": ["ec2:CreateSecurityGroup", "elasticloadbalancing:CreateLoadBalancer"], "Condition": {"StringEquals": {"aws:RequestTag/k": "owned"}}},
	{"Resource": "*", "Action": ["ec2:AuthorizeSecurityGroupIngress", "ec2:RevokeSecurityGroupIngress"], "Condition": {"StringEquals": {"aws:ResourceTag/ours": "yes"}}},
	{"Resource": "*", "Action": ["ec2:DeleteSecurityGroup", "ec2:AuthorizeSecurityGroupIngress", "elasticloadbalancing:RegisterInstancesWithLoadBalancer",
		"elasticloadbalancing:DeleteLoadBalancer"], "Condition": {"StringEquals": {"aws:ResourceTag/k": "owned"}}}]}`

func ask(t *testing.T, r *http.Request) (int, string) {
	t.Helper()
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// query asks an interface as the SDK of AWS does: "Action=DescribeInstances&InstanceId.1=i-1".
func query(t *testing.T, url, service, form string) (int, string) {
	t.Helper()
	version := map[string]string{ec2: "2016-11-15", elb: "2012-06-01"}[service]
	r, err := http.NewRequest(http.MethodPost, url, strings.NewReader(form+"&Version="+version))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+accessKey+"/20261201/eu-central-1/"+service+"/aws4_request, SignedHeaders=host, Signature=0")
	r.Header.Set("X-Amz-Security-Token", token)
	return ask(t, r)
}

func TestQueriesAreAnsweredAsAWSWould(t *testing.T) {
	server := httptest.NewServer(cloud(t).API())
	defer server.Close()
	cases := map[string]struct {
		service, form string
		status        int
		says          string
	}{
		"all":           {ec2, "Action=DescribeInstances", 200, "<instanceId>i-1</instanceId><instanceType>m6i.large</instanceType>"},
		"one":           {ec2, "Action=DescribeInstances&InstanceId.1=i-1", 200, "<groupSet><item><groupId>sg-1</groupId><groupName>hosts</groupName></item></groupSet>"},
		"gone":          {ec2, "Action=DescribeInstances&InstanceId.1=i-2", 400, "<Code>InvalidInstanceID.NotFound</Code>"},
		"zones":         {ec2, "Action=DescribeAvailabilityZones", 200, "<zoneName>eu-central-1b</zoneName><zoneId>zone-az2</zoneId>"},
		"no topology":   {ec2, "Action=DescribeInstanceTopology", 400, "UnsupportedOperation"},
		"filter":        {ec2, "Action=DescribeSecurityGroups&Filter.1.Name=group-name&Filter.1.Value.1=other", 200, "<securityGroupInfo></securityGroupInfo>"},
		"no filter":     {ec2, "Action=DescribeSecurityGroups&Filter.1.Name=owner-id&Filter.1.Value.1=other", 400, "does not know the filter owner-id"},
		"load balancer": {elb, "Action=DescribeLoadBalancers&LoadBalancerNames.member.1=a", 400, "<ErrorResponse><Errors><Error><Type>Sender</Type><Code>LoadBalancerNotFound"},
		"unknown":       {ec2, "Action=RunInstances", 400, "InvalidAction"},
		"not allowed":   {ec2, "Action=DescribeSubnets", 400, "UnauthorizedOperation"},
		"without a tag": {ec2, "Action=CreateSecurityGroup&GroupName=b&VpcId=vpc-1", 400, "UnauthorizedOperation"},
		"not its own":   {ec2, "Action=DeleteSecurityGroup&GroupId=sg-1", 400, "UnauthorizedOperation"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if status, body := query(t, server.URL, c.service, c.form); status != c.status || !strings.Contains(body, c.says) {
				t.Errorf("%d %s", status, body)
			}
		})
	}
	r, err := http.NewRequest(http.MethodPost, server.URL, strings.NewReader("Action=DescribeInstances&Version=2016-11-15"))
	if err != nil {
		t.Fatal(err)
	}
	if status, body := ask(t, r); status != 400 || !strings.Contains(body, "AuthFailure") {
		t.Errorf("without a signature: %d %s", status, body)
	}
}

// TestLoadBalancerComesAndGoes makes a load balancer with its group, as the cloud controller does.
func TestLoadBalancerComesAndGoes(t *testing.T) {
	c := cloud(t)
	server := httptest.NewServer(c.API())
	defer server.Close()
	const tagged, listed = "TagSpecification.1.Tag.1.Key=k&TagSpecification.1.Tag.1.Value=owned", "Tags.member.1.Key=k&Tags.member.1.Value=owned"
	ok := func(service, form, says string) string {
		t.Helper()
		status, body := query(t, server.URL, service, form)
		if status != http.StatusOK || !strings.Contains(body, says) {
			t.Fatalf("%s: %d %s", form, status, body)
		}
		return body
	}
	refused := func(form, code string) {
		t.Helper()
		if status, body := query(t, server.URL, ec2, form); status != http.StatusBadRequest || !strings.Contains(body, code) {
			t.Fatalf("%s: %d %s", form, status, body)
		}
	}
	group := regexp.MustCompile(`sg-\w+`).FindString(ok(ec2, "Action=CreateSecurityGroup&GroupName=b&VpcId=vpc-1&"+tagged, "<groupId>sg-"))
	refused("Action=CreateSecurityGroup&GroupName=b&VpcId=vpc-1&"+tagged, "InvalidGroup.Duplicate")
	ok(ec2, "Action=AuthorizeSecurityGroupIngress&GroupId="+group+"&IpPermissions.1.IpProtocol=tcp&IpPermissions.1.FromPort=80&IpPermissions.1.ToPort=80&IpPermissions.1.IpRanges.1.CidrIp=0.0.0.0/0", "")
	ok(ec2, "Action=DescribeSecurityGroups&GroupId.1="+group, "<ipProtocol>tcp</ipProtocol><fromPort>80</fromPort><toPort>80</toPort><groups></groups><ipRanges><item><cidrIp>0.0.0.0/0</cidrIp>")
	open := "&GroupId=sg-1&IpPermissions.1.IpProtocol=-1&IpPermissions.1.Groups.1.GroupId=" + group
	ok(ec2, "Action=AuthorizeSecurityGroupIngress"+open, "<return>true</return>")
	refused("Action=AuthorizeSecurityGroupIngress"+open, "InvalidPermission.Duplicate")
	ok(ec2, "Action=DescribeSecurityGroups&Filter.1.Name=ip-permission.group-id&Filter.1.Value.1="+group, "<groupId>sg-1</groupId>")
	ok(elb, "Action=CreateLoadBalancer&LoadBalancerName=lb&Subnets.member.1=subnet-1&SecurityGroups.member.1="+group+
		"&Listeners.member.1.LoadBalancerPort=80&Listeners.member.1.InstancePort=30080&"+listed, "<CreateLoadBalancerResponse><CreateLoadBalancerResult><DNSName>lb-")
	ok(elb, "Action=RegisterInstancesWithLoadBalancer&LoadBalancerName=lb&Instances.member.1.InstanceId=i-1", "")
	ok(elb, "Action=DescribeLoadBalancers&LoadBalancerNames.member.1=lb", "<Instances><member><InstanceId>i-1</InstanceId></member></Instances>")
	ok(elb, "Action=DescribeLoadBalancers&LoadBalancerNames.member.1=lb", "<InstancePort>30080</InstancePort>")
	refused("Action=DeleteSecurityGroup&GroupId="+group, "DependencyViolation")
	ok(ec2, "Action=RevokeSecurityGroupIngress"+open, "")
	refused("Action=RevokeSecurityGroupIngress"+open, "InvalidPermission.NotFound")
	ok(elb, "Action=DeleteLoadBalancer&LoadBalancerName=lb", "")
	ok(ec2, "Action=DeleteSecurityGroup&GroupId="+group, "")
	if all, err := c.World.Things(); err != nil || len(all) != 4 {
		t.Errorf("left: %v %v", all, err)
	}
}

func TestMetadataIsForThoseWithASession(t *testing.T) {
	server := httptest.NewServer(cloud(t).Metadata())
	defer server.Close()
	get := func(path, session string) (int, string) {
		r, err := http.NewRequest(http.MethodGet, server.URL+"/latest/"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Aws-Ec2-Metadata-Token", session)
		return ask(t, r)
	}
	if status, _ := get("meta-data/instance-id", ""); status != http.StatusUnauthorized {
		t.Errorf("without a session: %d", status)
	}
	open, err := http.NewRequest(http.MethodPut, server.URL+"/latest/api/token", nil)
	if err != nil {
		t.Fatal(err)
	}
	open.Header.Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "300")
	_, session := ask(t, open)
	for path, want := range map[string]string{
		"meta-data/instance-id":                      "i-1",
		"meta-data/placement/availability-zone":      "eu-central-1b",
		"meta-data/iam/security-credentials/":        role,
		"meta-data/iam/security-credentials/" + role: `"AccessKeyId":"` + accessKey + `"`,
		"dynamic/instance-identity/document":         `"region":"eu-central-1"`,
	} {
		if status, body := get(path, session); status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}
