//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"clusterctl/components/cloudcontroller"
	"clusterctl/provision/cloud/standin"
	"clusterctl/provision/cloud/standin/amazon"
)

// apiAddress is where the stand-in for AWS' services is found: an address for documentation (RFC 5737),
// which hosts reach by their way out, this machine.
const apiAddress = "198.51.100.53"

// amazon serves AWS' own interfaces to the instances: that of EC2 and load balancers, and the metadata
// service at the address that it has everywhere.
func (d *datacenter) amazon(t *testing.T) {
	t.Helper()
	region := amazon.Cloud{World: d.world, Region: "eu-central-1", Zones: []string{"eu-central-1a", "eu-central-1b", "eu-central-1c"}}
	serve(t, amazon.MetadataAddress, region.Metadata())
	serve(t, apiAddress, region.API())
}

// serve gives this machine an address for the time of the test, and listens there.
func serve(t *testing.T, address string, h http.Handler) {
	t.Helper()
	run := func(verb string) error {
		out, err := exec.Command("ip", "address", verb, address+"/32", "dev", "lo").CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s address %s: %w: %s", verb, address, err, out)
		}
		return nil
	}
	if err := run("replace"); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", net.JoinHostPort(address, "80"))
	if err != nil {
		t.Fatal(errors.Join(err, run("del")))
	}
	server := &http.Server{Handler: h}
	go server.Serve(l)
	t.Cleanup(func() {
		if err := errors.Join(server.Close(), run("del")); err != nil {
			t.Error(err)
		}
	})
}

// nodesKnowTheirInstances holds that the cloud controller has told each node of its instance.
func nodesKnowTheirInstances(t *testing.T, d *datacenter, c *cluster) {
	nodes, err := c.client(t).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(nodes.Items) != 4 {
		t.Errorf("%d nodes", len(nodes.Items))
	}
	for _, n := range nodes.Items {
		if err := knowsItsInstance(n, d.instance(t, n.Name)); err != nil {
			t.Errorf("%s: %v", n.Name, err)
		}
	}
	for host, want := range map[string]string{"e2e-aws-cp-3": "active", "e2e-aws-default-1": "inactive"} {
		got := c.cli(t, "ssh", c.spec, host, "--", "sh", "-c", "systemctl is-active "+cloudcontroller.AWSName+" || true")
		if text := strings.TrimSpace(got.stdout); text != want {
			t.Errorf("%s on %s is %q, want %q", cloudcontroller.AWSName, host, text, want)
		}
	}
}

// knowsItsInstance compares a node with its instance. That a zone has an id, nobody but the cloud
// controller says.
func knowsItsInstance(n corev1.Node, th standin.Thing) error {
	zone := fmt.Sprint(th.Inputs["availabilityZone"])
	var errs []error
	if want := "aws:///" + zone + "/" + th.ID; n.Spec.ProviderID != want {
		errs = append(errs, fmt.Errorf("provider id %q, want %q", n.Spec.ProviderID, want))
	}
	for label, want := range map[string]string{
		corev1.LabelTopologyZone: zone, corev1.LabelTopologyRegion: "eu-central-1", corev1.LabelInstanceTypeStable: fmt.Sprint(th.Inputs["instanceType"]),
		"topology.k8s.aws/zone-id": fmt.Sprintf("zone-az%d", zone[len(zone)-1]-'a'+1),
	} {
		if got := n.Labels[label]; got != want {
			errs = append(errs, fmt.Errorf("label %s is %q, want %q", label, got, want))
		}
	}
	if slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == cloudcontroller.Uninitialised }) {
		errs = append(errs, fmt.Errorf("has the taint %s", cloudcontroller.Uninitialised))
	}
	return errors.Join(errs...)
}

// serviceHasALoadBalancer holds that the cloud controller makes one for a Service, in public subnets,
// with what the role of control planes may do.
func serviceHasALoadBalancer(t *testing.T, d *datacenter, c *cluster) {
	c.kubectl(t, "create", "service", "loadbalancer", "front", "--tcp=80:80")
	api := c.client(t).CoreV1().Services("default")
	eventually(t, time.Minute, "the Service has the name of a load balancer", func(ctx context.Context) error {
		s, err := api.Get(ctx, "front", metav1.GetOptions{})
		if err == nil && len(s.Status.LoadBalancer.Ingress) == 0 {
			err = errors.New(c.kubectl(t, "get", "events", "--field-selector", "involvedObject.name=front"))
		}
		return err
	})
	d.balances(t, "cp-1", "cp-2", "cp-3", "default-1")
	for _, id := range d.balancers(t)[0].Inputs["subnets"].([]any) {
		if subnet, err := d.world.Get(fmt.Sprint(id)); err != nil || subnet.Inputs["tags"].(map[string]any)["kubernetes.io/role/elb"] != "1" {
			t.Errorf("the load balancer is in the subnet %v: %v", subnet, err)
		}
	}
}

// balancers are the load balancers of Services in the world.
func (d *datacenter) balancers(t *testing.T) []standin.Thing {
	t.Helper()
	things, err := d.world.Things()
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(things, func(th standin.Thing) bool { return th.Type != "aws:elb/loadBalancer:LoadBalancer" })
}

// balances waits until the load balancer of the Service sends its connections to these hosts.
func (d *datacenter) balances(t *testing.T, hosts ...string) {
	t.Helper()
	var want []string
	for _, h := range hosts {
		want = append(want, d.instance(t, d.cluster+"-"+h).ID)
	}
	slices.Sort(want)
	eventually(t, 3*time.Minute, "the load balancer has the cluster's hosts", func(context.Context) error {
		var have []string
		for _, b := range d.balancers(t) {
			list, _ := b.Inputs["instances"].([]any)
			for _, id := range list {
				have = append(have, fmt.Sprint(id))
			}
		}
		if slices.Sort(have); !slices.Equal(have, want) {
			return fmt.Errorf("it has %v, not %v", have, want)
		}
		return nil
	})
}

// instance finds an instance in the world by its name.
func (d *datacenter) instance(t *testing.T, name string) standin.Thing {
	t.Helper()
	things, err := d.world.Things()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(things, func(th standin.Thing) bool { return th.Type == d.cloud.machine && th.Name == name })
	if i < 0 {
		t.Fatalf("no instance %s", name)
	}
	return things[i]
}

// nodeGoes waits until the cloud controller has removed the node of an instance that is gone.
func (c *cluster) nodeGoes(t *testing.T, name string) {
	t.Helper()
	api := c.client(t)
	eventually(t, 3*time.Minute, "the node of the lost instance is removed", func(ctx context.Context) error {
		_, err := api.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(errors.New("it is there still"), err)
	})
}
