// Package load is a client that writes to the API again and again, as the balancer of a host lets
// it, and counts what went wrong: for tests and for measuring.
package load

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"clusterctl/components"
	"clusterctl/provision/host"
)

// Balanced talks to the API as the kubelet of a host does: through the host's own balancer.
func Balanced(kubeconfig string, h host.Host) (kubernetes.Interface, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	cfg.Host = components.BalancedAPI()
	cfg.Timeout = 5 * time.Second
	cfg.QPS = -1
	cfg.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return h.Dial(ctx, network, components.HostPort("127.0.0.1", components.BalancerPort))
	}
	cfg.WarningHandler = rest.NoWarnings{}
	return kubernetes.NewForConfig(cfg)
}

// Writer updates one object at a pace until End.
type Writer struct {
	stop     func()
	done     chan struct{}
	api      kubernetes.Interface
	patience time.Duration

	mu        sync.Mutex
	seen      Result
	firstGood time.Time // of the writes since the last failure
	lastGood  time.Time
}

// Result is what a writer met.
type Result struct {
	Writes, Failures int
	Retries          int           // of writes that went wrong at first
	Longest          time.Duration // without a write
	Err              error         // of the last failure
}

// Start makes the object and begins to write. A write has failed when it does not go through
// within patience; until then it is tried again at the pace.
func Start(ctx context.Context, api kubernetes.Interface, pace, patience time.Duration) (*Writer, error) {
	_, err := api.CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "writer"}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	w := &Writer{stop: cancel, done: make(chan struct{}), api: api, patience: patience, lastGood: time.Now()}
	go func() {
		defer close(w.done)
		tick := time.NewTicker(pace)
		defer tick.Stop()
		for n := 0; ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				w.write(ctx, n, tick.C)
			}
		}
	}()
	return w, nil
}

func (w *Writer) write(ctx context.Context, n int, again <-chan time.Time) {
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "writer"}, Data: map[string]string{"n": strconv.Itoa(n)}}
	began, retries := time.Now(), 0
	_, err := w.api.CoreV1().ConfigMaps("default").Update(ctx, cm, metav1.UpdateOptions{})
	for err != nil && ctx.Err() == nil && time.Since(began) < w.patience {
		<-again
		retries++
		_, err = w.api.CoreV1().ConfigMaps("default").Update(ctx, cm, metav1.UpdateOptions{})
	}
	if ctx.Err() != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen.Writes++
	w.seen.Retries += retries
	if err != nil {
		w.seen.Failures++
		w.seen.Err, w.firstGood = err, time.Time{}
		return
	}
	now := time.Now()
	if w.firstGood.IsZero() {
		w.firstGood = now
	}
	w.seen.Longest, w.lastGood = max(w.seen.Longest, now.Sub(w.lastGood)), now
}

// SteadySince is nil when writes have gone well for a second, some time after the given moment.
func (w *Writer) SteadySince(moment time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	steady := w.lastGood.Sub(w.firstGood)
	if w.firstGood.IsZero() || steady < time.Second || w.lastGood.Sub(moment) < 3*time.Second {
		return fmt.Errorf("%d of %d writes failed, the last one: %v", w.seen.Failures, w.seen.Writes, w.seen.Err)
	}
	return nil
}

// End stops writing and tells what was met. It may be called again.
func (w *Writer) End() Result {
	w.stop()
	<-w.done
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen
}

// String is a result as one line.
func (r Result) String() string {
	return fmt.Sprintf("%d of %d writes failed, %d were tried again, longest time without one: %v; last error: %v",
		r.Failures, r.Writes, r.Retries, r.Longest.Round(time.Millisecond), r.Err)
}
