package phases

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"clusterctl/components/resource"
	"clusterctl/phases/apply"
	"clusterctl/provision/event"
	"clusterctl/provision/host"
	"clusterctl/provision/inventory"
)

// Remove takes the cluster off hosts that stay: workers first, then control planes, since these
// serve the others. It gives what stayed, by host.
func Remove(ctx context.Context, e *Env, parallel int, to event.Sink) (left []string, err error) {
	owned, err := Wants(e.Cluster, Up(), nil)
	if err != nil {
		return nil, err
	}
	var errs []error
	byHost := map[string][]resource.Resource{}
	for _, r := range owned {
		byHost[r.Key().Host] = append(byHost[r.Key().Host], r)
	}
	for _, l := range e.Cluster.Leaving {
		byHost[l.Host.Name] = e.Cluster.owned(l.Host)
	}
	known := e.Cluster.Known()
	for _, group := range [][]inventory.Host{known.Workers(), known.ControlPlanes()} {
		more, err := removeGroup(ctx, e, group, byHost, parallel, to)
		left = append(left, more...)
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return left, fmt.Errorf("%w\nswitch the host on and run down again: the other hosts are clean", err)
	}
	return left, nil
}

func removeGroup(ctx context.Context, e *Env, group []inventory.Host, owned map[string][]resource.Resource, parallel int, to event.Sink) (left []string, err error) {
	var mu sync.Mutex
	err = host.ForEach(ctx, parallel, group, func(ctx context.Context, h inventory.Host) error {
		const text = "remove units, files, pods and data"
		to.Emit(event.Event{Time: time.Now(), Kind: event.StepStart, Phase: "hosts", Host: h.Name, Text: text})
		handle, err := e.Hosts.Get(h.Name)
		var stayed []string
		if err == nil {
			stayed, err = apply.Remove(ctx, handle, e.Cluster.Secrets.ClusterUID(), owned[h.Name])
		}
		to.Emit(event.Event{Time: time.Now(), Kind: event.StepEnd, Phase: "hosts", Host: h.Name, Text: text, Err: err})
		mu.Lock()
		defer mu.Unlock()
		for _, s := range stayed {
			left = append(left, h.Name+": "+s)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", h.Name, err)
		}
		return nil
	})
	return left, err
}
