package release

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestForKnowsEverySupportedVersion(t *testing.T) {
	want := map[string]string{ // Kubernetes to etcd
		"v1.37.2": "v3.7.3",
		"v1.36.3": "v3.6.16",
	}
	if len(Supported()) != len(want) {
		t.Errorf("Supported() = %v", Supported())
	}
	for _, version := range Supported() {
		r, err := For(strings.TrimPrefix(version, "v"))
		if err != nil {
			t.Errorf("For(%q): %v", version, err)
		}
		if r.Kubernetes != version || r.Version("kubernetes") != version || r.Version("etcd") != want[version] {
			t.Errorf("For(%q) = Kubernetes %s, etcd %s", version, r.Kubernetes, r.Version("etcd"))
		}
		for component, version := range map[string]string{
			"containerd": "v2.4.2", "runc": "v1.5.3", "cni": "v1.10.0", "flannel": "v0.28.10", "flannel-cni": "v0.9.1", "coredns": "v1.15.0",
		} {
			if got := r.Version(component); got != version {
				t.Errorf("%s beside %s: %s, want %s", component, r.Kubernetes, got, version)
			}
		}
	}
}

func TestUnknownVersionNamesTheSupportedOnes(t *testing.T) {
	for _, version := range []string{"", "v1.37", "v1.37.1", "latest", "vv1.37.2"} {
		_, err := For(version)
		if err == nil || !strings.Contains(err.Error(), "v1.37.2, v1.36.3") {
			t.Errorf("For(%q): error %v", version, err)
		}
	}
}

// each calls f for every artifact of every release.
func each(t *testing.T, f func(t *testing.T, c Component, a Artifact)) {
	for _, version := range Supported() {
		r, err := For(version)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range r.Components {
			for _, a := range c.Artifacts {
				t.Run(version+"/"+a.Name, func(t *testing.T) { f(t, c, a) })
			}
		}
	}
}

func TestEveryProgramMustAnswerItsVersion(t *testing.T) {
	each(t, func(t *testing.T, c Component, a Artifact) {
		asked := map[string]bool{}
		for _, check := range a.Checks {
			if groups := regexp.MustCompile(check.Pattern).NumSubexp(); groups != 1 {
				t.Errorf("%v: pattern %q has %d groups, want 1", check.Args, check.Pattern, groups)
			}
			if strings.TrimPrefix(check.Want, "v") == strings.TrimPrefix(c.Version, "v") {
				asked[check.Args[0]] = true
			}
		}
		for _, link := range a.Links {
			if !asked[link] {
				t.Errorf("%s is not asked for version %s", link, c.Version)
			}
		}
		if len(asked) == 0 {
			t.Error("nothing is asked")
		}
	})
}

func TestNamesAreUniqueInARelease(t *testing.T) {
	for _, version := range Supported() {
		r, err := For(version)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, c := range r.Components {
			for _, a := range c.Artifacts {
				// A program may be installed under its artifact's name.
				for name := range namesOf(a) {
					if seen[name] {
						t.Errorf("%s: %q is there twice", version, name)
					}
					seen[name] = true
				}
			}
		}
	}
}

func namesOf(a Artifact) map[string]bool {
	names := map[string]bool{a.Name: true}
	for _, l := range a.Links {
		names[l] = true
	}
	return names
}

func TestImagesAreNamedByTheConstantsAndTheirVersion(t *testing.T) {
	want := map[string]string{"coredns-image": CoreDNSImage, "pause-image": PauseImage}
	each(t, func(t *testing.T, c Component, a Artifact) {
		if a.Image.Reference != want[a.Name] || (a.Kind == Image) != (a.Image.Reference != "") {
			t.Errorf("kind %s, reference %q, want %q", a.Kind, a.Image.Reference, want[a.Name])
		}
		if a.Kind == Image && !strings.HasSuffix(strings.TrimPrefix(c.Version, "v"), strings.TrimPrefix(tag(a.Image.Reference), "v")) {
			t.Errorf("reference %q of version %s", a.Image.Reference, c.Version)
		}
	})
}

func tag(reference string) string { return reference[strings.LastIndex(reference, ":")+1:] }

// The nested modules pin the same versions as the table.
func TestModulesRequireTheVersionsOfTheTable(t *testing.T) {
	own := map[string]bool{"pause": true, "balancer": true}
	each(t, func(t *testing.T, c Component, a Artifact) {
		data, err := os.ReadFile(filepath.Join("../..", filepath.FromSlash(c.Dir), "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		if pinned := regexp.MustCompile(`(?m)\s` + regexp.QuoteMeta(c.Version) + `( // indirect)?$`); !own[c.Name] && !pinned.Match(data) {
			t.Errorf("%s/go.mod does not require %s", c.Dir, c.Version)
		}
	})
}

// A cloud controller may not be newer than an API server, and one minor version older at most.
func TestCloudControllerHasTheMinorVersionOfKubernetes(t *testing.T) {
	for _, version := range Supported() {
		r, err := For(version)
		if err != nil {
			t.Fatal(err)
		}
		_, want := majorMinor(version)
		if _, got := majorMinor(r.Version("aws-cloud-controller-manager")); got != want || r.PartOf("aws-cloud-controller-manager") != AWS {
			t.Errorf("beside %s: minor version %s in part %q", version, got, r.PartOf("aws-cloud-controller-manager"))
		}
	}
}
