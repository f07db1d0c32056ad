//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"clusterctl/e2e/load"
	"clusterctl/provision/local"
	"clusterctl/provision/spec"
)

// leaderIsLost cuts the power of the host where etcd's leader runs, looks at what the others do,
// and has up bring it back.
func leaderIsLost(t *testing.T, c *cluster) {
	s := decode[statusAnswer](t, c.cli(t, "status", c.spec, "-o", "json").exits(t, 0))
	if len(s.leaders()) != 1 {
		t.Fatalf("leaders: %v", s.leaders())
	}
	lost := s.leaders()[0]
	others := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return name == lost })
	api := c.balancedClient(t, workers[0])
	client := startClient(t, api, 100*time.Millisecond, 0)
	watching := startWatch(t, api, others)

	t.Logf("power cut of %s", lost)
	cut := time.Now()
	c.powerOff(t, lost)
	eventually(t, time.Minute, "the API takes writes again", func(context.Context) error { return client.SteadySince(cut) })

	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "after-the-loss", Labels: map[string]string{"app": "after"}}, Spec: corev1.PodSpec{
		TerminationGracePeriodSeconds: new(int64), Containers: []corev1.Container{{Name: "web", Image: testImage}}}}
	eventually(t, time.Minute, "a new pod runs", func(ctx context.Context) error {
		if _, err := api.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
		p, err := api.CoreV1().Pods("default").Get(ctx, pod.Name, metav1.GetOptions{})
		if err == nil && p.Status.Phase != corev1.PodRunning {
			err = fmt.Errorf("the pod is %s: %v", p.Status.Phase, p.Status.Conditions)
		}
		return err
	})
	eventually(t, 2*time.Minute, "the lost node is known to be lost", func(ctx context.Context) error {
		if err := c.nodesReady(ctx, api, lost); err == nil {
			return errors.New("it is still Ready")
		} else if !strings.Contains(err.Error(), "Ready is Unknown") {
			return err
		}
		return nil
	})
	for _, name := range watching.end() {
		t.Errorf("%s was not Ready while %s was off", name, lost)
	}
	seen := decode[statusAnswer](t, c.cli(t, "status", c.spec, "-o", "json").exits(t, 4).says(t, lost+" cannot be reached"))
	if leaders := seen.leaders(); len(leaders) != 1 || leaders[0] == lost {
		t.Errorf("after the loss of %s etcd is led by %v", lost, leaders)
	}
	report(t, client)

	before := c.processes(t, others)
	c.cli(t, "up", c.spec, "--yes").exits(t, 0)
	c.heals(t)
	if changed := changedProcesses(t, before, c.processes(t, others)); len(changed) > 0 {
		t.Errorf("the return of %s restarted on the others: %v", lost, changed)
	}
	c.kubectl(t, "delete", "pod", pod.Name)
}

// heals waits until everything is as it should be.
func (c *cluster) heals(t *testing.T) {
	t.Helper()
	eventually(t, 90*time.Second, "all is well again", func(context.Context) error {
		r := c.cli(t, "status", c.spec, "-o", "json")
		if r.code != 0 || !decode[statusAnswer](t, r).healthy() {
			return errors.New(r.stdout + r.stderr)
		}
		return nil
	})
}

// powerOff cuts a host's power, as the machine it runs on would lose it.
func (c *cluster) powerOff(t *testing.T, name string) {
	t.Helper()
	s, err := spec.Load(c.spec)
	if err != nil {
		t.Fatal(err)
	}
	p := local.New(local.Options{StateDir: c.stateDir(), CacheDir: shared.cache, Runc: shared.runc, Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err := p.Stop(t.Context(), s, name); err != nil {
		t.Fatal(err)
	}
}

// balancedClient talks to the API as the kubelet of a host does: through the host's own balancer.
func (c *cluster) balancedClient(t *testing.T, name string) kubernetes.Interface {
	t.Helper()
	api, err := load.Balanced(filepath.Join(c.stateDir(), "admin.kubeconfig"), c.host(name))
	if err != nil {
		t.Fatal(err)
	}
	return api
}

// startClient begins to write and read; it ends with the test at the latest.
func startClient(t *testing.T, api kubernetes.Interface, pace, patience time.Duration) *load.Client {
	t.Helper()
	w, err := load.Start(t.Context(), api, pace, patience)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.End() })
	return w
}

// report ends a client that may meet failures, but no long time without an answer and no lost write.
func report(t *testing.T, w *load.Client) load.Result {
	t.Helper()
	r := w.End()
	t.Log(r)
	if r.Longest > 30*time.Second {
		t.Errorf("nothing went through for %v", r.Longest)
	}
	if r.Lost > 0 {
		t.Errorf("%d writes were lost", r.Lost)
	}
	return r
}

// nodeWatch looks at nodes again and again.
type nodeWatch struct {
	stop func()
	bad  map[string]bool
}

func startWatch(t *testing.T, api kubernetes.Interface, names []string) *nodeWatch {
	w := &nodeWatch{bad: map[string]bool{}}
	w.stop = load.Every(t.Context(), time.Second, func(ctx context.Context) {
		list, err := api.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return // that the API answers is the client's business
		}
		for _, n := range list.Items {
			if slices.Contains(names, n.Name) && nodeReady(n) != nil {
				w.bad[n.Name] = true
			}
		}
	})
	return w
}

// end stops looking and gives the nodes that were not Ready at some time.
func (w *nodeWatch) end() []string {
	w.stop()
	return slices.Sorted(maps.Keys(w.bad))
}
