package resource

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestDigestChangesWithAllThatMustMatch(t *testing.T) {
	file := File{Host: "a", Path: "/f", Mode: 0o600, Content: []byte("x")}
	for name, c := range map[string]struct {
		one, other Resource
		same       bool
	}{
		"content":       {file, File{Host: "a", Path: "/f", Mode: 0o600, Content: []byte("y")}, false},
		"mode":          {file, File{Host: "a", Path: "/f", Mode: 0o644, Content: []byte("x")}, false},
		"owner":         {file, File{Host: "a", Path: "/f", Mode: 0o600, Owner: "etcd:etcd", Content: []byte("x")}, false},
		"default owner": {file, File{Host: "a", Path: "/f", Mode: 0o600, Owner: "root:root", Content: []byte("x")}, true},
		"host":          {file, File{Host: "b", Path: "/f", Mode: 0o600, Content: []byte("x")}, true},
		"directory":     {Dir{Path: "/d", Mode: 0o700}, Dir{Path: "/d", Mode: 0o755}, false},
		"link":          {Link{Path: "/l", Target: "/a"}, Link{Path: "/l", Target: "/b"}, false},
		"artifact":      {Artifact{Path: "/a", SHA256: "1"}, Artifact{Path: "/a", SHA256: "2"}, false},
		"unit":          {Unit{Name: "u", Inputs: []string{"1", "2"}}, Unit{Name: "u", Inputs: []string{"12"}}, false},
		"unit's order":  {Unit{Name: "u", Inputs: []string{"1", "2"}}, Unit{Name: "u", Inputs: []string{"2", "1"}}, false},
		"sysctl":        {Sysctl{Name: "s", Value: "0"}, Sysctl{Name: "s", Value: "1"}, false},
		"image":         {Image{Reference: "i", ImageDigest: "1"}, Image{Reference: "i", ImageDigest: "2"}, false},
	} {
		if same := c.one.Digest() == c.other.Digest(); same != c.same {
			t.Errorf("%s: equal digests %v, want %v", name, same, c.same)
		}
	}
}

func TestArtifactAndFileOfTheSameBytesHaveTheSameDigest(t *testing.T) {
	f := File{Path: "/f", Mode: 0o755, Content: []byte("x")}
	a := Artifact{Path: "/f", Mode: 0o755, SHA256: Sum([]byte("x"))}
	if f.Digest() != a.Digest() {
		t.Errorf("file %s, artifact %s", f.Digest(), a.Digest())
	}
}

func TestNodeDigestDoesNotDependOnOrder(t *testing.T) {
	a, b := corev1.Taint{Key: "a", Effect: "NoSchedule"}, corev1.Taint{Key: "b", Value: "x", Effect: "NoExecute"}
	one := Node{Host: "n", Labels: map[string]string{"x": "1", "y": "2"}, Taints: []corev1.Taint{a, b}}
	two := Node{Host: "n", Labels: map[string]string{"y": "2", "x": "1"}, Taints: []corev1.Taint{b, a}}
	if one.Digest() != two.Digest() {
		t.Error("the order of taints changes the digest")
	}
	two.Taints[0].Value = "z"
	if one.Digest() == two.Digest() {
		t.Error("another taint value leaves the digest as it was")
	}
}

func TestManifestsHoldOnlyWhatWeMean(t *testing.T) {
	rs, err := Manifests(&corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "kube-system"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	m := rs[0].(Manifest)
	text, err := m.Object.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"status", "null", "creationTimestamp", "resources"} {
		if strings.Contains(string(text), word) {
			t.Errorf("the object has %s, which nobody asked for: %s", word, text)
		}
	}
	if m.Title() != "Pod kube-system/x" || m.Key() != (Key{Kind: KindManifest, Name: "Pod/kube-system/x"}) {
		t.Errorf("title %q, key %q", m.Title(), m.Key())
	}
}
