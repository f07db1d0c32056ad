package phases_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"clusterctl/components/resource"
	"clusterctl/phases"
	"clusterctl/phases/state"
	"clusterctl/provision/spec"
)

// The node object of a machine that is gone is deleted before the kubelet of the new one starts.
func TestNodeOfAFormerMachineGoesBeforeTheKubeletStarts(t *testing.T) {
	text, err := os.ReadFile("../examples/aws.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c := clusterOf(t, string(text), newSecrets(t))
	const name = "aws-default-1"
	facts := installed(t, c)
	delete(facts, resource.Key{Host: name, Kind: resource.KindUnit, Name: "kubelet.service"})
	facts[resource.NoNode{Name: name}.Key()] = resource.Present("")
	facts[resource.Node{Host: name}.Key()] = resource.Fact{Exists: true, Detail: resource.OtherMachine}
	c.Settle(phases.Observed{Facts: facts})
	var got []string
	for _, p := range planOf(t, c, phases.Up(), facts) {
		for _, w := range p.Waves {
			for _, b := range w.Batches {
				for _, s := range append(b.Steps[""], b.Steps[name]...) {
					if p.Phase.Name == "nodes" {
						got = append(got, string(s.Verb)+" "+s.Want.Title())
					}
				}
			}
		}
	}
	all := strings.Join(got, "\n")
	gone, start := strings.Index(all, "delete node object "+name), strings.Index(all, "start kubelet.service")
	if gone < 0 || start < gone {
		t.Errorf("steps:\n%s", all)
	}
}

func TestNodeIsInitialisedWhenTheTaintIsGone(t *testing.T) {
	n := &corev1.Node{Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "node.kubernetes.io/unschedulable", Effect: corev1.TaintEffectNoSchedule}}}}
	if err := phases.Initialised(n); err != nil {
		t.Error(err)
	}
	n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true", Effect: corev1.TaintEffectNoSchedule})
	if err := phases.Initialised(n); err == nil || err.Error() != "it still has the taint node.cloudprovider.kubernetes.io/uninitialized" {
		t.Errorf("error %v", err)
	}
}

func TestCloudControllerOfTheUsersIsReadFromItsFile(t *testing.T) {
	example, err := os.ReadFile("../examples/gcp.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(example), "      # cloudController:\n", "      cloudController: {manifest: ccm.yaml}\n", 1)
	const good = "# one\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: ccm, namespace: kube-system}\n---\n---\napiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: ccm, namespace: kube-system}\nstatus: {}\n"
	for name, c := range map[string]struct{ file, says string }{
		"good":        {good, ""},
		"not there":   {"", "ccm.yaml: open "},
		"empty":       {"---\n", "ccm.yaml: it has no object"},
		"no name":     {good + "---\napiVersion: v1\nkind: Secret\n", "ccm.yaml: document 3: the Secret has no name"},
		"list":        {"apiVersion: v1\nkind: List\nitems: []\n", "document 1: it is a List: write its items as documents"},
		"no kind":     {"metadata: {name: a}\n", "document 1: it has no apiVersion or no kind"},
		"not a thing": {"a: [\n", "document 1: "},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if c.file != "" {
				if err := os.WriteFile(filepath.Join(dir, "ccm.yaml"), []byte(c.file), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			s, err := spec.Parse(filepath.Join(dir, "gcp.yaml"), []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			p, err := phases.Prepare(phases.Sources{Spec: s, Inventory: hostsOf(t, s), State: state.Open(s.Path, "none"), Now: noon, Rand: strings.NewReader(strings.Repeat("x", 1<<20))})
			if c.says != "" {
				if wrong, ok := errors.AsType[*phases.ManifestError](err); !ok || !strings.Contains(wrong.Error(), c.says) || wrong.ExitCode() != 3 {
					t.Errorf("error %v, want %q", err, c.says)
				}
				return
			}
			if err != nil || len(p.Cluster.CloudObjects) != 2 || p.Cluster.CloudObjects[1].Title() != "DaemonSet kube-system/ccm" {
				t.Errorf("objects %v, error %v", p.Cluster.CloudObjects, err)
			}
		})
	}
}
