package kubernetes

import (
	"crypto/rand"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	apiserverv1 "k8s.io/apiserver/pkg/apis/apiserver/v1"

	"clusterctl/components"
	"clusterctl/pki"
	"clusterctl/provision/inventory"
	"clusterctl/provision/spec"
)

func node(t *testing.T, role inventory.Role, edit func(*spec.Cluster)) components.Node {
	t.Helper()
	s, err := spec.Parse("spec.yaml", spec.Example("ssh"))
	if err != nil {
		t.Fatal(err)
	}
	edit(s)
	secrets, err := pki.New(pki.Options{Cluster: "dev"}, time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return components.Node{Spec: s, Secrets: secrets, Host: inventory.Host{Name: "a", Role: role, Pool: "default", Address: netip.MustParseAddr("192.0.2.11")}}
}

// TestEveryProviderReadsWhatAnotherWrote: a changed spec.kubernetes.encryption must not make old
// Secrets unreadable, neither when it is turned off nor when it is turned on again.
func TestEveryProviderReadsWhatAnotherWrote(t *testing.T) {
	for name, want := range map[string][]string{
		"secretbox": {"secretbox", "aescbc", "identity"},
		"aescbc":    {"aescbc", "secretbox", "identity"},
		"none":      {"identity", "secretbox", "aescbc"},
	} {
		n := node(t, inventory.ControlPlane, func(s *spec.Cluster) { s.Spec.Kubernetes.Encryption = name })
		var got []string
		for _, p := range encryption(n).Resources[0].Providers {
			got = append(got, kindOf(p))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: providers %v, want %v: the first writes, all read", name, got, want)
		}
		if args := APIServerArgs(n); !slices.Contains(args, "--encryption-provider-config="+encryptionPath) {
			t.Errorf("%s: kube-apiserver does not read the providers: %v", name, args)
		}
	}
}

func kindOf(p apiserverv1.ProviderConfiguration) string {
	switch {
	case p.Secretbox != nil:
		return "secretbox"
	case p.AESCBC != nil:
		return "aescbc"
	case p.Identity != nil:
		return "identity"
	}
	return "none"
}

func TestControlPlanesAreTaintedUnlessTheyAreSchedulable(t *testing.T) {
	yes, no := true, false
	for name, c := range map[string]struct {
		role        inventory.Role
		schedulable *bool
		tainted     bool
	}{
		"control plane":             {inventory.ControlPlane, &no, true},
		"schedulable control plane": {inventory.ControlPlane, &yes, false},
		"worker":                    {inventory.Worker, &no, false},
	} {
		n := node(t, c.role, func(s *spec.Cluster) { s.Spec.ControlPlane.Schedulable = c.schedulable })
		if got := len(RegistrationTaints(n)) == 1; got != c.tainted {
			t.Errorf("%s: tainted %v, want %v", name, got, c.tainted)
		}
	}
}

func TestNodeLabelsTellTheRoleAndKeepTheSpecsOwn(t *testing.T) {
	n := node(t, inventory.Worker, func(*spec.Cluster) {})
	n.Host.Labels = map[string]string{"example.com/disk": "ssd"}
	labels := NodeLabels(n)
	if labels["clusterctl/pool"] != "default" || labels["example.com/disk"] != "ssd" {
		t.Errorf("labels %v", labels)
	}
	if len(n.Host.Labels) != 1 {
		t.Errorf("the inventory's labels were changed: %v", n.Host.Labels)
	}
	if _, ok := NodeLabels(node(t, inventory.ControlPlane, func(*spec.Cluster) {}))["node-role.kubernetes.io/control-plane"]; !ok {
		t.Error("a control plane lacks its role's label")
	}
}

// TestAPIServerLetsNobodyInWithoutCredentials but to the health endpoints, which balancers ask.
func TestAPIServerLetsNobodyInWithoutCredentials(t *testing.T) {
	a := authentication().Anonymous
	if !a.Enabled || len(a.Conditions) == 0 {
		t.Fatal("without conditions anonymous requests reach every path")
	}
	for _, c := range a.Conditions {
		if c.Path != "/livez" && c.Path != "/readyz" && c.Path != "/healthz" {
			t.Errorf("anybody may ask for %s", c.Path)
		}
	}
}

func TestAuditNeverRecordsTheContentOfSecrets(t *testing.T) {
	for _, rule := range auditPolicy().Rules {
		for _, g := range rule.Resources {
			for _, r := range g.Resources {
				if r == "secrets" {
					if rule.Level != "Metadata" {
						t.Errorf("Secrets are recorded at level %s", rule.Level)
					}
					return
				}
			}
		}
		if rule.Level == "Request" || rule.Level == "RequestResponse" {
			t.Fatal("a rule before that of Secrets records content")
		}
	}
	t.Error("no rule for Secrets")
}

func TestStoppingAnAPIServerIsGraceful(t *testing.T) {
	n := node(t, inventory.ControlPlane, func(*spec.Cluster) {})
	args := strings.Join(APIServerArgs(n), " ")
	for _, want := range []string{"--shutdown-delay-duration=", "--shutdown-send-retry-after=false", "--goaway-chance="} {
		if !strings.Contains(args, want) {
			t.Errorf("no %s", want)
		}
	}
}

// TestTheControlPlaneEmulatesAndNodesCannot.
func TestTheControlPlaneEmulatesAndNodesCannot(t *testing.T) {
	n := node(t, inventory.ControlPlane, func(*spec.Cluster) {})
	n.Emulated = "1.36"
	for name, args := range map[string][]string{"kube-apiserver": APIServerArgs(n), "kube-controller-manager": ControllerManagerArgs(n),
		"kube-scheduler": SchedulerArgs(n), "kubelet": KubeletArgs(n)} {
		if got := slices.Contains(args, "--emulated-version=1.36"); got != (name != "kubelet") {
			t.Errorf("%s has the flag: %v", name, got)
		}
	}
}
