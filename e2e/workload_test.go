//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// manifest is the path of a manifest of the tests.
func manifest(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func podsReachEachOther(t *testing.T, c *cluster) {
	c.importImage(t, workers...)
	c.kubectl(t, "apply", "--filename", manifest(t, "web.yaml"))
	c.kubectl(t, "rollout", "status", "deployment/web", "--timeout=90s")
	pods := c.pods(t, c.client(t), "app=web")
	byNode := map[string][]corev1.Pod{}
	for _, p := range pods {
		byNode[p.Spec.NodeName] = append(byNode[p.Spec.NodeName], p)
	}
	if len(pods) != 4 || len(byNode[workers[0]]) != 2 || len(byNode[workers[1]]) != 2 {
		t.Fatalf("%d pods, by node %v, want two on each of %v", len(pods), byNode, workers)
	}
	here, there := byNode[workers[0]][0], byNode[workers[1]][0]

	t.Run("over hosts", func(t *testing.T) {
		for _, pair := range [][2]corev1.Pod{{here, there}, {there, here}, {here, byNode[workers[0]][1]}} {
			if got := c.exec(t, pair[0].Name, "get", "http://"+pair[1].Status.PodIP+":8080/hostname"); got != pair[1].Name {
				t.Errorf("%s asked %s and got %q", pair[0].Name, pair[1].Name, got)
			}
		}
	})
	t.Run("service by name", func(t *testing.T) {
		answered := map[string]bool{}
		for range 20 {
			answered[c.exec(t, here.Name, "get", "http://web.default.svc.cluster.local/hostname")] = true
			if len(answered) > 1 {
				break
			}
		}
		if len(answered) < 2 {
			t.Errorf("20 requests through the Service were all answered by %v", answered)
		}
		if got := c.exec(t, there.Name, "resolve", "kubernetes.default.svc.cluster.local"); got != "10.96.0.1" {
			t.Errorf("kubernetes.default.svc.cluster.local is %q", got)
		}
	})
	t.Run("service from a control plane", func(t *testing.T) {
		svc, err := c.client(t).CoreV1().Services("default").Get(t.Context(), "web", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := c.sh(t, planes[0], "curl --silent --fail --max-time 5 http://"+svc.Spec.ClusterIP+"/hostname"); !strings.HasPrefix(got, "web-") {
			t.Errorf("the Service answered %q", got)
		}
	})
	t.Run("logs", func(t *testing.T) {
		for _, p := range pods {
			if got := c.kubectl(t, "logs", p.Name); !strings.Contains(got, "serving as "+p.Name) {
				t.Errorf("logs of %s: %q", p.Name, got)
			}
		}
	})
	t.Run("port-forward", func(t *testing.T) {
		if got := c.forwarded(t, there.Name, "/hostname"); got != there.Name {
			t.Errorf("through the forwarded port answers %q, want %q", got, there.Name)
		}
	})
}

// pods lists the running pods of a label.
func (c *cluster) pods(t *testing.T, api kubernetes.Interface, selector string) []corev1.Pod {
	t.Helper()
	list, err := api.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return p.Status.Phase != corev1.PodRunning })
}

// exec runs the test's program in a pod as a client.
func (c *cluster) exec(t *testing.T, pod string, args ...string) string {
	t.Helper()
	return strings.TrimSpace(c.kubectl(t, append([]string{"exec", pod, "--", "/testpod"}, args...)...))
}

// forwarded asks a pod for a path through kubectl port-forward.
func (c *cluster) forwarded(t *testing.T, pod, path string) string {
	t.Helper()
	r := command{args: []string{"kubectl", c.spec, "--", "port-forward", "pod/" + pod, ":8080"}}.start(t)
	defer func() {
		r.signal(t, syscall.SIGINT)
		r.wait(t)
	}()
	var port string
	eventually(t, 15*time.Second, "the port is forwarded", func(context.Context) error {
		m := regexp.MustCompile(`127\.0\.0\.1:(\d+)`).FindStringSubmatch(r.stdout.String())
		if m == nil {
			return fmt.Errorf("kubectl says %q %q", r.stdout.String(), r.stderr.String())
		}
		port = m[1]
		return nil
	})
	res, err := http.Get("http://127.0.0.1:" + port + path)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(body))
}
