//go:build e2e

package e2e

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"clusterctl/components/release"
	"clusterctl/provision/cloud/standin"
)

// cloudPart is one part of a cluster's life; each needs what the parts before it left.
type cloudPart struct {
	name string
	run  func(*testing.T, *datacenter, *cluster)
}

// TestCloud takes the example's cluster on AWS through its life: with the real engine, in a cloud
// whose instances are machines of this one.
func TestCloud(t *testing.T) {
	d := newDatacenter(t, onAWS(), "e2e-aws")
	d.balance(t)
	d.amazon(t)
	d.live(t, awsSpec(t),
		cloudPart{"UpGoesOnAfterAFault", upAfterFault},
		cloudPart{"PodsAnswerAndTheBalancerToo", cloudWorks},
		cloudPart{"NodesKnowTheirInstances", nodesKnowTheirInstances},
		cloudPart{"ServiceHasALoadBalancer", serviceHasALoadBalancer},
		cloudPart{"SecretsStayOutOfTheCloud", secretsStayOut},
		cloudPart{"UpAgainChangesNothing", upAgainInTheCloud},
		cloudPart{"WorkerWhoseAnswerWasLostIsAdopted", scaleAfterOrphan},
		cloudPart{"UpNamesADeadControlPlane", upWithoutAControlPlane},
		cloudPart{"DeadControlPlaneIsMadeAnew", replaceControlPlane},
		cloudPart{"ChangedMachinesComeOneByOne", otherMachines},
		cloudPart{"ControlPlanesAndAWorkerLeave", leaveTheCloud},
		cloudPart{"DownStopsAtWhatIsLeft", leftInTheCloud},
		cloudPart{"DownLeavesNothing", downInTheCloud},
	)
}

// TestCloudOnGCP has the parts that differ from cloud to cloud, in Google's terms; nobody but the tool
// says there where a node is.
func TestCloudOnGCP(t *testing.T) {
	d := newDatacenter(t, onGCP(), "e2e-gcp")
	d.balance(t)
	d.live(t, gcpSpec(t), withoutController(controllerInAnImage, map[string]string{
		"e2e-gcp-cp-2":      "gce://my-project/europe-west3-b/e2e-gcp-cp-2 europe-west3-b europe-west3",
		"e2e-gcp-default-1": "gce://my-project/europe-west3-a/e2e-gcp-default-1 europe-west3-a europe-west3",
	})...)
}

// TestCloudOnVSphere is the same in a vCenter: without a bastion, and without a load balancer.
func TestCloudOnVSphere(t *testing.T) {
	d := newDatacenter(t, onVSphere(), "e2e-vsphere")
	d.live(t, vsphereSpec(t), withoutController(controllerInAManifest, map[string]string{
		"e2e-vsphere-cp-2":      "vsphere://ID cluster-1 dc-1",
		"e2e-vsphere-default-1": "vsphere://ID cluster-1 dc-1",
	})...)
}

// withoutController are the parts of a cloud where nothing of ours asks the cloud at run time; bring has
// the spec name a cloud controller, and places has provider id, zone and region of nodes, with ID for that
// of the instance.
func withoutController(bring func(*testing.T, *datacenter, *cluster), places map[string]string) []cloudPart {
	return []cloudPart{
		{"UpGoesOnAfterAFault", upAfterFault},
		{"PodsAnswer", cloudWorks},
		{"NodesKnowTheirPlace", func(t *testing.T, d *datacenter, c *cluster) { nodesKnowTheirPlace(t, d, c, places) }},
		{"SecretsStayOutOfTheCloud", secretsStayOut},
		{"UpAgainChangesNothing", upAgainInTheCloud},
		{"WorkerWhoseAnswerWasLostIsAdopted", scaleAfterOrphan},
		{"DeadControlPlaneIsMadeAnew", replaceControlPlane},
		{"ACloudControllerIsBrought", bring},
		{"TheNewNodeKnowsItsPlace", func(t *testing.T, d *datacenter, c *cluster) { nodesKnowTheirPlace(t, d, c, places) }},
		{"DownLeavesNothing", downInTheCloud},
	}
}

// live takes a cluster through its life, until a part fails.
func (d *datacenter) live(t *testing.T, text string, life ...cloudPart) {
	t.Helper()
	c := newCluster(t, d.cluster, text, d.plugin(t, filepath.Join(d.world.Dir, "..", "pulumi"))...)
	for _, l := range life {
		if !t.Run(l.name, func(t *testing.T) { l.run(t, d, c) }) {
			return
		}
	}
}

// example is a cloud's example with another name and one worker fewer.
func example(t *testing.T, cloud string) string {
	t.Helper()
	text, err := os.ReadFile("../examples/" + cloud + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	out := replace(t, string(text), "\n  name: "+cloud+"\n", "\n  name: e2e-"+cloud+"\n")
	return replace(t, out, "    - name: default\n      replicas: 2\n", "    - name: default\n      replicas: 1\n")
}

// awsSpec is the example with another name and range, fewer workers, and AWS' services at the stand-in.
func awsSpec(t *testing.T) string {
	t.Helper()
	out := replace(t, example(t, "aws"), "        cidr: 10.0.0.0/16\n", "        cidr: "+vpc+"\n")
	endpoint := "http://" + apiAddress
	out = replace(t, out, "      cloudController:\n        enabled: true\n",
		"      cloudController:\n        endpoints: [{service: ec2, url: '"+endpoint+"'}, {service: elasticloadbalancing, url: '"+endpoint+"'}]\n")
	return replace(t, out, "    - name: memory\n      replicas: 1\n", "    - name: memory\n      replicas: 0\n")
}

func gcpSpec(t *testing.T) string {
	t.Helper()
	out := replace(t, example(t, "gcp"), "        cidr: 10.0.0.0/20\n", "        cidr: 10.91.0.0/20\n")
	return replace(t, out, "    - name: memory\n      replicas: 1\n", "    - name: memory\n      replicas: 0\n")
}

func vsphereSpec(t *testing.T) string {
	t.Helper()
	return replace(t, example(t, "vsphere"), "        hostCIDR: 192.0.2.64/26\n        subnet: 192.0.2.0/24\n        gateway: 192.0.2.1\n",
		"        hostCIDR: 10.91.4.64/26\n        subnet: "+vpc+"\n        gateway: 10.91.0.1\n")
}

// plugin installs the stand-in in a home of its own for Pulumi, and gives the environment for it.
func (d *datacenter) plugin(t *testing.T, home string) []string {
	t.Helper()
	if _, err := os.Stat(filepath.Join(shared.cache, "pulumi", "bin", "pulumi")); err != nil {
		t.Fatalf("%v; run: make pulumi", err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := standin.Install(self, home, d.cloud.pkg, d.cloud.version); err != nil {
		t.Fatal(err)
	}
	fields, err := standin.RealFields(t.Context(), "../provision/cloud/standin/sdk", d.cloud.pkg, d.cloud.tokens)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(d.world.Dir, "..", "fields.json")
	if err := fields.Write(path); err != nil {
		t.Fatal(err)
	}
	return append(credentials(), "PULUMI_HOME="+home, standin.DirVariable+"="+d.world.Dir, standin.FieldsVariable+"="+path, "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION=true")
}

// credentials are what somebody has in the environment for the three clouds, each with cloudCanary in
// it. The stand-in asks for none.
func credentials() []string {
	return []string{
		"AWS_ACCESS_KEY_ID=AKIASTANDIN", "AWS_SECRET_ACCESS_KEY=" + cloudCanary, "GOOGLE_OAUTH_ACCESS_TOKEN=" + cloudCanary,
		"VSPHERE_USER=clusterctl", "VSPHERE_PASSWORD=" + cloudCanary,
	}
}

const cloudCanary = "opens-no-cloud-4f1d9c"

func (d *datacenter) faults(t *testing.T, f map[string]standin.Fault) {
	t.Helper()
	if err := d.world.SetFaults(f); err != nil {
		t.Fatal(err)
	}
}

// instances are the cluster's hosts in the world, without its name before each, sorted.
func (d *datacenter) instances(t *testing.T) []string {
	t.Helper()
	things, err := d.world.Things()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, th := range things {
		if name := strings.TrimPrefix(th.Name, d.cluster+"-"); th.Type == d.cloud.machine && name != "bastion" {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

func (d *datacenter) has(t *testing.T, want ...string) {
	t.Helper()
	if got := d.instances(t); !slices.Equal(got, want) {
		t.Fatalf("the cloud has the instances %v, want %v", got, want)
	}
}

// upAfterFault has the cloud refuse one control plane in the middle of the first up.
func upAfterFault(t *testing.T, d *datacenter, c *cluster) {
	c.cli(t, "plan", c.spec, "--detailed-exitcode").exits(t, 2).says(t, "create host "+c.name+"-cp-1")
	d.has(t)
	d.faults(t, map[string]standin.Fault{"create " + c.name + "-cp-3": standin.Fail})
	c.cli(t, "up", c.spec, "--yes").exits(t, 1).says(t, c.name+"-cp-3: ", "InsufficientInstanceCapacity")
	d.has(t, "cp-1", "cp-2", "default-1")
	d.faults(t, nil)
	c.cli(t, "plan", c.spec, "--detailed-exitcode").exits(t, 2).says(t, "create host "+c.name+"-cp-3")
	c.cli(t, "up", c.spec, "--yes").exits(t, 0)
	d.has(t, "cp-1", "cp-2", "cp-3", "default-1")
}

func upAgainInTheCloud(t *testing.T, _ *datacenter, c *cluster) {
	c.cli(t, "up", c.spec, "--yes").exits(t, 0)
	c.cli(t, "plan", c.spec, "--detailed-exitcode").exits(t, 0).says(t, "No changes")
}

// secretsStayOut looks for the cluster's secrets, the key to its hosts and the cloud's credentials in all
// that the cloud was told, in what the engine keeps (state, history, backups), in what commands printed,
// and in the journal; and for the engine's passphrase everywhere but in its file.
func secretsStayOut(t *testing.T, d *datacenter, c *cluster) {
	kept := filepath.Join(c.stateDir(), "pulumi")
	passphrase, err := os.ReadFile(filepath.Join(kept, "passphrase"))
	if err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(filepath.Join(c.stateDir(), "ssh", "id_ed25519"))
	if err != nil {
		t.Fatal(err)
	}
	var hosts []string
	for _, name := range d.instances(t) {
		hosts = append(hosts, c.name+"-"+name)
	}
	secrets := append(canaries(t, c, hosts), strings.TrimSpace(string(passphrase)), strings.Split(string(key), "\n")[2], cloudCanary)
	var seen int
	for _, root := range []string{d.world.Dir, kept, filepath.Join(d.world.Dir, "..", "pulumi"), commandLog(), filepath.Join(c.stateDir(), "journal.jsonl")} {
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case e.Name() == "plugins": // the stand-in itself
				return fs.SkipDir
			case e.Type().IsRegular() && path != filepath.Join(kept, "passphrase"):
				seen++
				holdsNone(t, path, secrets)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	t.Logf("looked for %d traits of secrets in %d files", len(secrets), seen)
}

// cloudWorks holds that nodes are Ready as a user sees them, through the load balancer, and that a
// pod answers.
func cloudWorks(t *testing.T, _ *datacenter, c *cluster) {
	names := []string{c.name + "-cp-1", c.name + "-cp-2", c.name + "-cp-3", c.name + "-default-1"}
	if err := c.nodesReady(t.Context(), c.client(t), names...); err != nil {
		t.Error(err)
	}
	c.importImage(t, names[3])
	c.kubectl(t, "apply", "--filename", manifest(t, "web.yaml"))
	c.kubectl(t, "rollout", "status", "deployment/web", "--timeout=90s")
	pods := c.pods(t, c.client(t), "app=web")
	if len(pods) < 2 {
		t.Fatalf("%d pods", len(pods))
	}
	if got := c.exec(t, pods[0].Name, "get", "http://web.default.svc.cluster.local/hostname"); !strings.HasPrefix(got, "web-") {
		t.Errorf("the Service answered %q", got)
	}
	c.cli(t, "status", c.spec).exits(t, 0).says(t, "No problems.")
}

// scaleAfterOrphan adds a worker, and the plugin dies after the cloud made it.
func scaleAfterOrphan(t *testing.T, d *datacenter, c *cluster) {
	c.edit(t, "    - name: default\n      replicas: 1\n", "    - name: default\n      replicas: 2\n")
	d.faults(t, map[string]standin.Fault{"create " + c.name + "-default-2": standin.Orphan})
	c.cli(t, "up", c.spec, "--yes").exits(t, 1)
	d.faults(t, nil)
	c.cli(t, "plan", c.spec, "--detailed-exitcode").exits(t, 2).says(t, "adopt host "+c.name+"-default-2")
	c.cli(t, "up", c.spec, "--yes").exits(t, 0)
	d.has(t, "cp-1", "cp-2", "cp-3", "default-1", "default-2")
	if err := c.nodesReady(t.Context(), c.client(t), c.name+"-default-2"); err != nil {
		t.Error(err)
	}
	c.cli(t, "plan", c.spec, "--detailed-exitcode").exits(t, 0)
}

// dead is the control plane that is lost.
const dead = "cp-2"

// upWithoutAControlPlane terminates a control plane: up says so, and the cloud controller removes its node.
func upWithoutAControlPlane(t *testing.T, d *datacenter, c *cluster) {
	d.lose(t, c.name+"-"+dead)
	c.cli(t, "up", c.spec, "--yes").exits(t, 4).says(t, c.name+"-"+dead)
	c.nodeGoes(t, c.name+"-"+dead)
}

// replaceControlPlane has another control plane made in the place of one that was terminated, and starts
// a second run meanwhile.
func replaceControlPlane(t *testing.T, d *datacenter, c *cluster) {
	lost := c.name + "-" + dead
	if slices.Contains(d.instances(t), dead) {
		d.lose(t, lost)
	}
	d.faults(t, map[string]standin.Fault{"create " + lost: standin.Slow})
	first := command{args: []string{"replace", c.spec, lost, "--yes"}, env: c.env}.start(t)
	before := d.calls(t, "create "+d.cloud.machine+" "+lost)
	eventually(t, 2*time.Minute, "the cloud is asked for another one", func(context.Context) error {
		if d.calls(t, "create "+d.cloud.machine+" "+lost) == before {
			return errors.New(first.stderr.String())
		}
		return nil
	})
	c.cli(t, "up", c.spec, "--yes").exits(t, 5).says(t, "process "+strconv.Itoa(first.cmd.Process.Pid))
	if err := os.WriteFile(filepath.Join(d.world.Dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	first.wait(t).exits(t, 0).says(t, "2 of 3 voting members answer, 2 are needed")
	c.cli(t, "plan", c.spec, "--detailed-exitcode").exits(t, 0)
	c.heals(t)
}

// otherMachines gives the control planes another instance type: up refuses, and each is made anew
// alone, alive as it is, while the API goes on answering.
func otherMachines(t *testing.T, d *datacenter, c *cluster) {
	c.edit(t, "      controlPlane:\n        instanceType: m6i.large\n", "      controlPlane:\n        instanceType: m6i.xlarge\n")
	before := d.ids(t)
	for i, host := range []string{"cp-1", "cp-2", "cp-3"} {
		host = c.name + "-" + host
		c.cli(t, "up", c.spec, "--yes").exits(t, 3).says(t, "instanceType m6i.large -> m6i.xlarge", "clusterctl replace "+c.spec+" "+host+" --force")
		r := c.cli(t, "replace", c.spec, host, "--force", "--yes")
		r.exits(t, 0)
		if i == 0 {
			r.says(t, "e2e-aws-cp-2 stays as it is until it is replaced too", "e2e-aws-cp-3 stays as it is")
		}
		after := d.ids(t)
		for name, id := range before {
			if (after[name] == id) == (name == host) {
				t.Errorf("%s replaced: %s was %s and is %s", host, name, id, after[name])
			}
		}
		before = after
		c.heals(t)
	}
	c.cli(t, "plan", c.spec, "--detailed-exitcode").exits(t, 0)
}

// ids are the cluster's instances, by name.
func (d *datacenter) ids(t *testing.T) map[string]string {
	t.Helper()
	things, err := d.world.Things()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, th := range things {
		if th.Type == d.cloud.machine {
			out[th.Name] = th.ID
		}
	}
	return out
}

// lose has an instance terminated behind the program's back, and waits until its machine is gone.
func (d *datacenter) lose(t *testing.T, name string) {
	t.Helper()
	if err := d.world.Delete(d.instance(t, name).ID); err != nil {
		t.Fatal(err)
	}
}

// calls counts how often the cloud was asked for something.
func (d *datacenter) calls(t *testing.T, call string) int {
	t.Helper()
	all, err := d.world.Calls()
	if err != nil {
		t.Fatal(err)
	}
	return len(slices.DeleteFunc(all, func(c string) bool { return c != call }))
}

// leaveTheCloud takes two of three control planes and a worker away, instances included.
func leaveTheCloud(t *testing.T, d *datacenter, c *cluster) {
	c.edit(t, "  controlPlane:\n    replicas: 3\n", "  controlPlane:\n    replicas: 1\n")
	c.edit(t, "    - name: default\n      replicas: 2\n", "    - name: default\n      replicas: 1\n")
	c.cli(t, "up", c.spec, "--yes").exits(t, 3).says(t, "--allow-remove e2e-aws-cp-3")
	d.has(t, "cp-1", "cp-2", "cp-3", "default-1", "default-2")
	c.cli(t, "up", c.spec, "--yes", "--allow-remove", "e2e-aws-cp-2", "--allow-remove", "e2e-aws-cp-3").exits(t, 0)
	d.has(t, "cp-1", "default-1")
	c.cli(t, "plan", c.spec, "--detailed-exitcode").exits(t, 0)
	if got := strings.Fields(c.kubectl(t, "get", "nodes", "--output", "name")); !slices.Equal(got, []string{"node/e2e-aws-cp-1", "node/e2e-aws-default-1"}) {
		t.Errorf("nodes: %v", got)
	}
	c.cli(t, "status", c.spec).exits(t, 0).says(t, "No problems.")
	d.balances(t, "cp-1", "default-1")
}

// leftInTheCloud has down find a volume that no claim has any more, when the load balancer of a Service
// is gone.
func leftInTheCloud(t *testing.T, d *datacenter, c *cluster) {
	volume := standin.Thing{ID: "vol-0123", Type: "aws:ebs/volume:Volume", Name: "pvc", Inputs: map[string]any{"tags": map[string]any{"kubernetes.io/cluster/e2e-aws": "owned"}}}
	if err := d.world.Put(volume); err != nil {
		t.Fatal(err)
	}
	before := d.instances(t)
	c.cli(t, "down", c.spec, "--yes").exits(t, 1).says(t, "volume vol-0123")
	d.has(t, before...)
	if got := c.kubectl(t, "get", "services", "--output", "name"); strings.Contains(got, "front") {
		t.Errorf("the Service with a load balancer is there still: %s", got)
	}
	if left := d.balancers(t); len(left) > 0 {
		t.Errorf("the Service's load balancer is there still: %v", left)
	}
	if err := d.world.Delete(volume.ID); err != nil {
		t.Fatal(err)
	}
}

// controllerInAnImage has the spec name an image, which then runs on all control planes. That it is the
// one that every host has, and not a controller, makes no difference to nodes that are there.
func controllerInAnImage(t *testing.T, _ *datacenter, c *cluster) {
	c.edit(t, "      # cloudController:\n      #   image: registry.example.com/cloud-controller-manager:v1.37.0\n      #   args: {v: 2}\n",
		"      cloudController: {image: '"+release.PauseImage+"'}\n")
	upAgainInTheCloud(t, nil, c)
	c.kubectl(t, "--namespace", "kube-system", "rollout", "status", "daemonset/cloud-controller-manager", "--timeout=60s")
	running := c.kubectl(t, "--namespace", "kube-system", "get", "pods", "--selector", "k8s-app=cloud-controller-manager",
		"--field-selector", "status.phase=Running", "--output", "jsonpath={.items[*].spec.nodeName}")
	got := strings.Fields(running)
	slices.Sort(got)
	if want := []string{c.name + "-cp-1", c.name + "-cp-2", c.name + "-cp-3"}; !slices.Equal(got, want) {
		t.Errorf("it runs on %v, want %v", got, want)
	}
}

// controllerInAManifest has the spec name a file, whose objects are applied as they are.
func controllerInAManifest(t *testing.T, _ *datacenter, c *cluster) {
	text, err := os.ReadFile(manifest(t, "controller.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(c.spec), "controller.yaml"), []byte(strings.ReplaceAll(string(text), "PAUSE", release.PauseImage)), 0o644); err != nil {
		t.Fatal(err)
	}
	c.edit(t, "      # cloudController:\n      #   manifest: cloud-controller.yaml\n", "      cloudController: {manifest: controller.yaml}\n")
	upAgainInTheCloud(t, nil, c)
	c.kubectl(t, "--namespace", "cloud", "rollout", "status", "deployment/controller", "--timeout=60s")
}

// downInTheCloud leaves nothing, neither there nor here.
func downInTheCloud(t *testing.T, d *datacenter, c *cluster) {
	c.cli(t, "down", c.spec, "--yes").exits(t, 0)
	if things, err := d.world.Things(); err != nil || len(things) > 0 {
		t.Errorf("left in the cloud: %v %v", things, err)
	}
	if _, err := os.Stat(filepath.Dir(c.stateDir())); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("state is left: %v", err)
	}
	c.cli(t, "down", c.spec, "--yes").exits(t, 0).says(t, "Nothing is left")
}

// nodesKnowTheirPlace holds that nodes have the provider id, zone and region that the tool gives them.
func nodesKnowTheirPlace(t *testing.T, d *datacenter, c *cluster, places map[string]string) {
	for name, want := range places {
		n, err := c.client(t).CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join([]string{n.Spec.ProviderID, n.Labels[corev1.LabelTopologyZone], n.Labels[corev1.LabelTopologyRegion]}, " ")
		if want = strings.ReplaceAll(want, "ID", d.instance(t, name).ID); got != want {
			t.Errorf("%s is at %q, want %q", name, got, want)
		}
	}
}
