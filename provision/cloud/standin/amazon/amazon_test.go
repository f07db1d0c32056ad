package amazon

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
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
			"privateIp": "127.0.0.1", "instanceType": "m6i.large", "availabilityZone": "eu-central-1b", "tags": map[string]any{"Name": "a"}}},
		{ID: "vpc-1", Type: "aws:ec2/vpc:Vpc", Name: "v"},
	} {
		if err := w.Put(th); err != nil {
			t.Fatal(err)
		}
	}
	return Cloud{World: w, Region: "eu-central-1", Zones: []string{"eu-central-1a", "eu-central-1b"}}
}

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

func TestQueriesAreAnsweredAsAWSWould(t *testing.T) {
	server := httptest.NewServer(cloud(t).API())
	defer server.Close()
	const ec2, elb = "2016-11-15", "2012-06-01"
	cases := map[string]struct {
		form    url.Values
		service string
		status  int
		says    string
	}{
		"all":           {url.Values{"Action": {"DescribeInstances"}, "Version": {ec2}}, "ec2", 200, "<instanceId>i-1</instanceId><instanceType>m6i.large</instanceType>"},
		"one":           {url.Values{"Action": {"DescribeInstances"}, "Version": {ec2}, "InstanceId.1": {"i-1"}}, "ec2", 200, "<availabilityZone>eu-central-1b</availabilityZone>"},
		"gone":          {url.Values{"Action": {"DescribeInstances"}, "Version": {ec2}, "InstanceId.1": {"i-2"}}, "ec2", 400, "<Code>InvalidInstanceID.NotFound</Code>"},
		"zones":         {url.Values{"Action": {"DescribeAvailabilityZones"}, "Version": {ec2}}, "ec2", 200, "<zoneName>eu-central-1b</zoneName><zoneId>zone-az2</zoneId>"},
		"no topology":   {url.Values{"Action": {"DescribeInstanceTopology"}, "Version": {ec2}}, "ec2", 400, "UnsupportedOperation"},
		"load balancer": {url.Values{"Action": {"DescribeLoadBalancers"}, "Version": {elb}}, "elasticloadbalancing", 400, "LoadBalancerNotFound"},
		"unknown":       {url.Values{"Action": {"RunInstances"}, "Version": {ec2}}, "ec2", 400, "UnauthorizedOperation"},
		"wrong service": {url.Values{"Action": {"DescribeInstances"}, "Version": {ec2}}, "", 400, "AuthFailure"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r, err := http.NewRequest(http.MethodPost, server.URL, strings.NewReader(c.form.Encode()))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+accessKey+"/20261201/eu-central-1/"+c.service+"/aws4_request, SignedHeaders=host, Signature=0")
			r.Header.Set("X-Amz-Security-Token", token)
			if status, body := ask(t, r); status != c.status || !strings.Contains(body, c.says) {
				t.Errorf("%d %s", status, body)
			}
		})
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
