//go:build e2e

package e2e

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"clusterctl/provision/host"
	"clusterctl/provision/host/sshhost"
	"clusterctl/provision/inventory"
)

// traffic is a client that writes and reads an object five times a second, and tries once more
// what went wrong.
type traffic struct {
	stop func()
	done chan struct{}
	log  func(string, ...any)

	mu               sync.Mutex
	requests, failed int // failed: of the first tries
	lost             int // failed the second time too
	since            time.Time
	lastErr          error
}

func startTraffic(t *testing.T, api kubernetes.Interface) *traffic {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	c := &traffic{stop: cancel, done: make(chan struct{}), log: t.Logf, since: time.Now()}
	maps := api.CoreV1().ConfigMaps("default")
	if _, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "traffic"}}, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		cancel()
		t.Fatal(err)
	}
	go func() {
		defer close(c.done)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for n := 0; ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			c.try(ctx, func() error {
				_, err := maps.Update(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "traffic"}, Data: map[string]string{"n": strconv.Itoa(n)}}, metav1.UpdateOptions{})
				return err
			})
			c.try(ctx, func() error {
				_, err := maps.Get(ctx, "traffic", metav1.GetOptions{})
				return err
			})
		}
	}()
	t.Cleanup(c.end)
	return c
}

func (c *traffic) try(ctx context.Context, request func() error) {
	err := request()
	again := err
	if err != nil {
		again = request()
	}
	if ctx.Err() != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests++
	if err != nil {
		c.failed++
		c.lastErr = err
	}
	if again != nil {
		c.lost++
	}
}

// mark tells how it went since the last mark.
func (c *traffic) mark(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.log("%s in %s: so far %d of %d requests failed, %d of them also the second time", what, time.Since(c.since).Round(time.Second), c.failed, c.requests, c.lost)
	c.since = time.Now()
}

func (c *traffic) end() {
	c.stop()
	<-c.done
}

func (c *traffic) report(t *testing.T) {
	c.end()
	t.Logf("%d of %d reads and writes failed, %d of them also the second time; last error: %v", c.failed, c.requests, c.lost, c.lastErr)
	if c.requests < 100 || c.failed*50 > c.requests || c.lost*200 > c.requests {
		t.Errorf("too many requests failed")
	}
}

// runOn runs a script as root on a machine that no cluster's state knows.
func runOn(t *testing.T, inv inventory.Inventory, name, script string) string {
	t.Helper()
	c := &cluster{hosts: host.NewPool(inv, sshhost.NewFleet(sshhost.Options{}).Open)}
	defer c.hosts.Close()
	return c.sh(t, name, script)
}
