//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"clusterctl/components"
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
	writing := startWriter(t, api, 100*time.Millisecond, 0)
	watching := startWatch(c, api, others)

	t.Logf("power cut of %s", lost)
	cut := time.Now()
	c.powerOff(t, lost)
	eventually(t, time.Minute, "the API takes writes again", func(context.Context) error { return writing.steadySince(cut) })

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
	writing.report(t)

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
	cfg, err := clientcmd.BuildConfigFromFlags("", filepath.Join(c.stateDir(), "admin.kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	cfg.Host = components.BalancedAPI()
	cfg.Timeout = 5 * time.Second
	cfg.QPS = -1
	cfg.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return c.host(name).Dial(ctx, network, components.HostPort("127.0.0.1", components.BalancerPort))
	}
	cfg.WarningHandler = rest.NoWarnings{}
	api, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return api
}

// writer updates an object again and again and remembers what went wrong.
type writer struct {
	stop     func()
	done     chan struct{}
	patience time.Duration // how long a write is tried again before it has failed

	mu        sync.Mutex
	writes    int
	failures  int
	retries   int
	firstGood time.Time     // of the writes since the last failure
	longest   time.Duration // without a write
	lastGood  time.Time
	lastErr   error
}

func startWriter(t *testing.T, api kubernetes.Interface, pace, patience time.Duration) *writer {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	w := &writer{stop: cancel, done: make(chan struct{}), patience: patience, lastGood: time.Now()}
	_, err := api.CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "writer"}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		cancel()
		t.Fatal(err)
	}
	go func() {
		defer close(w.done)
		tick := time.NewTicker(pace)
		defer tick.Stop()
		for n := 0; ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				w.write(ctx, api, n, tick.C)
			}
		}
	}()
	t.Cleanup(w.end)
	return w
}

func (w *writer) write(ctx context.Context, api kubernetes.Interface, n int, again <-chan time.Time) {
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "writer"}, Data: map[string]string{"n": strconv.Itoa(n)}}
	began := time.Now()
	_, err := api.CoreV1().ConfigMaps("default").Update(ctx, cm, metav1.UpdateOptions{})
	for err != nil && ctx.Err() == nil && time.Since(began) < w.patience {
		<-again
		w.retries++
		_, err = api.CoreV1().ConfigMaps("default").Update(ctx, cm, metav1.UpdateOptions{})
	}
	if ctx.Err() != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writes++
	if err != nil {
		w.failures++
		w.lastErr, w.firstGood = err, time.Time{}
		return
	}
	now := time.Now()
	if w.firstGood.IsZero() {
		w.firstGood = now
	}
	w.longest, w.lastGood = max(w.longest, now.Sub(w.lastGood)), now
}

// steadySince is nil when writes have gone well for a second, some time after the given moment.
func (w *writer) steadySince(moment time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	steady := w.lastGood.Sub(w.firstGood)
	if w.firstGood.IsZero() || steady < time.Second || w.lastGood.Sub(moment) < 3*time.Second {
		return fmt.Errorf("%d of %d writes failed, the last one: %v", w.failures, w.writes, w.lastErr)
	}
	return nil
}

func (w *writer) end() {
	w.stop()
	<-w.done
}

func (w *writer) report(t *testing.T) {
	w.end()
	t.Logf("%d of %d writes failed, %d were tried again, longest time without one: %v; last error: %v", w.failures, w.writes, w.retries, w.longest.Round(time.Millisecond), w.lastErr)
	if w.longest > 30*time.Second {
		t.Errorf("no write went through for %v", w.longest)
	}
}

// nodeWatch looks at nodes again and again.
type nodeWatch struct {
	stop func()
	done chan struct{}
	bad  map[string]bool
}

func startWatch(c *cluster, api kubernetes.Interface, names []string) *nodeWatch {
	ctx, cancel := context.WithCancel(context.Background())
	w := &nodeWatch{stop: cancel, done: make(chan struct{}), bad: map[string]bool{}}
	go func() {
		defer close(w.done)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			list, err := api.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
			if err != nil {
				continue // that the API answers is the writer's business
			}
			for _, n := range list.Items {
				if slices.Contains(names, n.Name) && nodeReady(n) != nil {
					w.bad[n.Name] = true
				}
			}
		}
	}()
	return w
}

// end stops looking and gives the nodes that were not Ready at some time.
func (w *nodeWatch) end() []string {
	w.stop()
	<-w.done
	var out []string
	for name := range w.bad {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}
