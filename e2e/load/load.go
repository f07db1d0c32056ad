// Package load is a client that writes to the API and reads from it again and again, as the balancer
// of a host lets it, and counts what went wrong: for tests and for measuring.
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
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
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

// Client updates and reads one object at a pace until End.
type Client struct {
	stop           func()
	objects        typed.ConfigMapInterface
	pace, patience time.Duration
	n, written     int // the last number, and the last that went through

	mu        sync.Mutex
	seen      Result
	firstGood time.Time // of the requests since the last failure
	lastGood  time.Time
}

// Result is what a client met.
type Result struct {
	Requests, Failures int
	Lost               int           // reads that lacked a write that had gone through
	Retried            int           // requests that went wrong at first, and were tried again in time
	Longest            time.Duration // without a good answer
	Ended              time.Time     // of the longest time
	Err                error         // of the last failure
}

// Start makes the object and begins. A request has failed when it does not go through within
// patience; until then it is tried again at the pace.
func Start(ctx context.Context, api kubernetes.Interface, pace, patience time.Duration) (*Client, error) {
	c := &Client{objects: api.CoreV1().ConfigMaps("default"), pace: pace, patience: patience, lastGood: time.Now()}
	if _, err := c.objects.Create(ctx, c.object(), metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, err
	}
	c.stop = Every(ctx, pace, func(ctx context.Context) {
		c.n++
		c.request(ctx, c.write)
		c.request(ctx, c.read)
	})
	return c, nil
}

const objectName = "load"

func (c *Client) object() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: objectName}, Data: map[string]string{"n": strconv.Itoa(c.n)}}
}

func (c *Client) write(ctx context.Context) error {
	_, err := c.objects.Update(ctx, c.object(), metav1.UpdateOptions{})
	if err == nil {
		c.written = c.n
	}
	return err
}

func (c *Client) read(ctx context.Context) error {
	have, err := c.objects.Get(ctx, objectName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if n, err := strconv.Atoi(have.Data["n"]); err != nil || n < c.written {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.seen.Lost++
	}
	return nil
}

func (c *Client) request(ctx context.Context, do func(context.Context) error) {
	began, retried := time.Now(), false
	err := do(ctx)
	again := time.NewTicker(c.pace)
	defer again.Stop()
	for err != nil && ctx.Err() == nil && time.Since(began) < c.patience {
		<-again.C
		retried = true
		err = do(ctx)
	}
	if ctx.Err() == nil {
		c.record(err, retried)
	}
}

func (c *Client) record(err error, retried bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen.Requests++
	if err != nil {
		c.seen.Failures++
		c.seen.Err, c.firstGood = err, time.Time{}
		return
	}
	if retried {
		c.seen.Retried++
	}
	now := time.Now()
	if c.firstGood.IsZero() {
		c.firstGood = now
	}
	if gap := now.Sub(c.lastGood); gap > c.seen.Longest {
		c.seen.Longest, c.seen.Ended = gap, now
	}
	c.lastGood = now
}

// SteadySince is nil when requests have gone well for a second, some time after the given moment.
func (c *Client) SteadySince(moment time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	steady := c.lastGood.Sub(c.firstGood)
	if c.firstGood.IsZero() || steady < time.Second || c.lastGood.Sub(moment) < 3*time.Second {
		return fmt.Errorf("%d of %d requests failed, the last one: %v", c.seen.Failures, c.seen.Requests, c.seen.Err)
	}
	return nil
}

// Seen tells what was met up to now.
func (c *Client) Seen() Result {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen
}

// End stops the client and tells what was met. It may be called again.
func (c *Client) End() Result {
	c.stop()
	return c.Seen()
}

// String is a result as one line.
func (r Result) String() string {
	return fmt.Sprintf("%d of %d reads and writes failed, %d went through when tried again, %d writes were lost, longest time without one: %v until %s; last error: %v",
		r.Failures, r.Requests, r.Retried, r.Lost, r.Longest.Round(time.Millisecond), r.Ended.UTC().Format(time.TimeOnly), r.Err)
}
